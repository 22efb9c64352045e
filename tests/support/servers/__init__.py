"""Real web servers for tests and benchmarks, started from the templates in conf/ on free ports of 127.0.0.1.

Everything lies in temporary folders that the servers' user can read: an installation of the package for the Python
that mod_wsgi was built for, the minters, the passwords and the logs.  As root the servers run as www-data, otherwise
as the caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from support.servers.apache import (
    ApacheCgi,
    ApacheFcgi,
    ApacheFcgiResolver,
    ApacheInterfaces,
    ApacheModCgi,
    ApacheProxy,
    ApacheResolver,
    ApacheResolverOfAllPaths,
    ApacheResolverOfPrefixes,
    ApacheRewrite,
    ApacheRewriteIbi,
    ApacheRewriteIbip,
    ApacheRewriteMap,
    ApacheRewriteMapIbi,
    ApacheRewriteMyGoto,
    ApacheRewritePrefix,
    ApacheWsgi,
    ApacheWsgiResolver,
)
from support.servers.deployment import Deployment
from support.servers.embedded import EmbeddedResolver
from support.servers.nginx import (
    NginxFcgi,
    NginxFcgiResolver,
    NginxInterfaces,
    NginxMap,
    NginxProxy,
    NginxResolver,
    NginxResolverByForm,
    NginxResolverOfPrefixes,
)

# The ways to serve commands by URL.
COMMANDS: dict[str, type[Deployment]] = {
    "apache-cgi": ApacheCgi, "apache-mod_cgi": ApacheModCgi, "apache-proxy": ApacheProxy, "apache-fcgi": ApacheFcgi,
    "apache-wsgi": ApacheWsgi, "nginx-proxy": NginxProxy, "nginx-fcgi": NginxFcgi,
}
# The ways to resolve names, which serve commands too.
RESOLVERS: dict[str, type[Deployment]] = {
    "rewrite": ApacheRewrite, "rewrite-mygoto": ApacheRewriteMyGoto, "rewrite-map": ApacheRewriteMap,
    "rewrite-map-ibi": ApacheRewriteMapIbi,
    "rewrite-ibi": ApacheRewriteIbi, "rewrite-ibip": ApacheRewriteIbip, "rewrite-pilin": ApacheRewritePrefix,
    "apache-resolver-of-prefixes": ApacheResolverOfPrefixes, "nginx-resolver-of-prefixes": NginxResolverOfPrefixes,
    "apache-resolver": ApacheResolver, "apache-resolver-of-all-paths": ApacheResolverOfAllPaths,
    "apache-fcgi-resolver": ApacheFcgiResolver, "wsgi-resolver": ApacheWsgiResolver,
    "nginx-resolver": NginxResolver, "nginx-fcgi-resolver": NginxFcgiResolver,
    "nginx-resolver-by-form": NginxResolverByForm, "nginx-map": NginxMap, "embedded-resolver": EmbeddedResolver,
}
# Ways that differ from others only in what carries the requests: ordinary requests and the guides try them in every
# run, and all else in the long one.
RARE = ("apache-mod_cgi", "apache-fcgi", "apache-fcgi-resolver")
# The ways to serve the interfaces of other software.
INTERFACES: dict[str, type[Deployment]] = {"apache-interfaces": ApacheInterfaces, "nginx-interfaces": NginxInterfaces}


def with_rare_ones_long(names: Iterable[str]) -> list[Any]:
    """Deployments as parameters of a test, of which the rare ones are for the long run."""
    return [pytest.param(name, marks=pytest.mark.long) if name in RARE else name for name in names]
