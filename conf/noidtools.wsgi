"""The minters of a folder as a WSGI application, for mod_wsgi (conf/apache/noid-wsgi.conf) and other servers."""

# ---- edit these lines ----
MINTERS = "/srv/noid"
# How many requests a second each process of mod_wsgi takes from one token, or from one address without a token, before
# it answers 429; three times as many may come at once.  There are two processes.  0 for any number.
REQUESTS_A_SECOND = 50
# ---- nothing below needs to change ----

from noidtools.minter.folder import MinterFolder
from noidtools.web.observer import Observer
from noidtools.web.rates import RateLimit
from noidtools.web.request import Trust
from noidtools.web.site import Site

site = Observer(Site(MinterFolder(MINTERS)), Trust(),
                rates=RateLimit(REQUESTS_A_SECOND) if REQUESTS_A_SECOND else None)


def application(environ, start_response):
    if not environ.get("PATH_INFO"):
        # WSGIScriptAliasMatch matches the whole path, which is no path of this program but the name itself.
        environ["PATH_INFO"], environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", ""), ""
    return site(environ, start_response)
