"""The minters of a folder as a WSGI application, for mod_wsgi (conf/apache/noid-wsgi.conf) and other servers."""

# ---- edit these lines ----
MINTERS = "/srv/noid"
# ---- nothing below needs to change ----

from noidtools.minter.folder import MinterFolder
from noidtools.web.site import Site

application = Site(MinterFolder(MINTERS))
