"""The data of records as JSON can hold them."""

from __future__ import annotations


def json_ready(value: object) -> object:
    """The value with all bytes converted for JSON: to text, or if they are not UTF-8 to an object with their base64."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            import base64

            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: json_ready(item) for name, item in value.items()}
    if isinstance(value, list):
        return [json_ready(item) for item in value]
    return value
