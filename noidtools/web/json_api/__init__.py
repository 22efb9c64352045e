"""The JSON API: resources below /api/v1, described by one OpenAPI document."""

from .application import JsonApi

__all__ = ["JsonApi"]
