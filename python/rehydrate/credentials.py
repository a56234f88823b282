"""Names that say by themselves that a file holds credentials: nothing of it is ever shown, whatever allows it.

What is listed is what programs themselves call such files, and where they put them; ordinary sources (`secrets.py`,
`token.rs`, `credentials.md`) and templates of environment files (`.env.example`) are not refused.  Names are compared
as the most forgiving file system would.
"""

import re
import unicodedata


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FOLDERS = _words(
    ".ssh .gnupg .aws .azure .kube .oci .aliyun .gcloud .ibmcloud .bluemix .terraform.d .snowsql .fly "
    ".password-store .electrum .ethereum .bitcoin .mozilla .thunderbird"
)
"""With all that is in them."""
_EXTENSIONS = _words(
    "pem key p8 p12 pfx pkcs12 jks bks keystore keytab ppk ovpn env tfstate tfvars binarycookies "
    "kdb kdbx psafe3 1pif agilekeychain opvault keychain keychain-db"
)
_NAMES = _words(
    ".netrc _netrc .authinfo .authinfo.gpg .git-credentials .gitcookies .smbcredentials .passwd-s3fs "
    ".npmrc .pypirc .pgpass pgpass.conf .my.cnf .mylogin.cnf .fetchmailrc .msmtprc .mbsyncrc .offlineimaprc "
    "sasl_passwd .htpasswd .htdigest .dockercfg .vault-token .boto .s3cfg rclone.conf .databrickscfg .sentryclirc "
    ".terraformrc terraform.rc kaggle.json wallet.dat secring.gpg shadow shadow- gshadow gshadow- .xauthority "
    ".iceauthority .credentials .credentials.json credentials.json credentials credentials.toml oauth_creds.json "
    "auth.json application_default_credentials.json .claude.json antigravity-oauth-token "
    "cookies cookies.txt logins.json logins-backup.json "
    ".histfile .zhistory fish_history consolehost_history.txt .lesshst .viminfo"
) | {"login data", "login data for account", "web data"}
_LIKE = re.compile(
    r"""
      \.env(rc)?([^a-z].*)?                                 # .env, .env.local, .envrc, but not .envoy.yaml
    | id_(rsa|dsa|ecdsa|ed25519|xmss).*(?<!\.pub)
    | ssh_host_.*_key
    | \..*_history                                          # of shells, databases and interpreters
    | (.*[-_.])?service[-_]?account([-_.].*)?\.json
    | (.*[-_.])?client_secrets?([-_.].*)?\.json
    | .*-firebase-adminsdk-.*\.json
    | .*\.tfstate\..* | .*\.tfvars\.json | .*\.tfrc\.json
    """,
    re.VERBOSE | re.DOTALL,
)
_TEMPLATE = re.compile(r"\.env.*[-_.](example|sample|template|tmpl|tpl|dist)", re.DOTALL)
_COPY = re.compile(r"([~#. ]|\.(bak|backup|old|orig|save))+\Z")
"""What editors and people put behind the name of a copy; and what some file systems leave off."""
_PLACES = tuple(
    f"/{place}/"
    for place in (
        *(".docker/config.json", "gh/hosts.yml", "glab-cli/config.yml", ".config/hub", ".circleci/cli.yml"),
        *(".config/gcloud", ".config/doctl", ".config/hcloud", ".config/linode-cli", ".config/netlify"),
        *(".config/op", ".config/bitwarden cli", "share/keyrings", ".gnome2/keyrings", "library/keychains"),
        *(".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".bundle/config"),
        *(".hex/hex.config", ".dbt/profiles.yml", "huggingface/token", ".huggingface/token", "solana/id.json"),
        *(".config/google-chrome", ".config/chromium", ".config/bravesoftware", ".config/microsoft-edge"),
        *("application support/google/chrome", "application support/firefox", "application support/chromium"),
        *("application support/bravesoftware", "application support/microsoft edge", "library/cookies"),
        *("sops/age/keys.txt", "etc/wireguard", "etc/ssl/private"),
    )
)
"""Files, and folders with all that is in them, known by more than their name."""
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""What Unicode leaves out of a comparison without regard to case, and some file systems out of a name."""


def fold(path: str) -> str:
    """A spelling in which names that some file systems take for the same are the same."""
    if path.isascii():
        return path.lower()
    # As Unicode has it for a match without regard to case and compatibility, then composed: `?` is one letter.
    once = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", path).casefold())
    return unicodedata.normalize("NFKC", _IGNORABLE.sub("", once.casefold()))


def is_secret(path: str) -> bool:
    """Whether its name alone says that nothing of it is ever shown: environment files, private keys, credential stores,
    cookies, histories of shells.  A path of any system.
    """
    folded = fold(path).replace("\\", "/")
    parts = folded.split("/")
    name = _COPY.sub("", parts[-1]).lstrip("#") or parts[-1]
    _, dot, extension = name.rpartition(".")
    whole = f"/{folded}/"
    return (
        name in _NAMES
        or (bool(dot) and extension in _EXTENSIONS)
        or (_LIKE.fullmatch(name) is not None and _TEMPLATE.fullmatch(name) is None)
        or not _FOLDERS.isdisjoint(parts)
        or any(place in whole for place in _PLACES)
    )
