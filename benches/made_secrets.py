"""Secrets made up in the formats that vendors document, the places they stand in, and lines that look like them.

The same seed gives the same.  The formats are written down here a second time on purpose, not derived from the rules
that are measured.
"""

import base64
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator
from urllib.parse import quote

_SETS = {
    "A": string.ascii_letters + string.digits,
    "L": string.ascii_letters,
    "U": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "-_",
    "B": string.ascii_letters + string.digits + "+/",
    "2": string.ascii_uppercase + "234567",
    "a": "qpzry9x8gf2tvdw0s3jn54khce6mua7l".upper(),
}
FORMATS = {
    "anthropic": ("sk-ant-api03-{b93}AA", "sk-ant-admin01-{b93}AA", "sk-ant-oat01-{b86}-{b6}AA"),
    "openai": (
        *("sk-{A20}T3BlbkFJ{A20}", "sk-proj-{b74}T3BlbkFJ{b74}", "sk-svcacct-{b58}T3BlbkFJ{b58}"),
        "sk-admin-{b58}T3BlbkFJ{b58}",
    ),
    "openrouter": ("sk-or-v1-{h64}",),
    "hugging face": ("hf_{L34}", "api_org_{L34}"),
    "groq": ("gsk_{A52}",),
    "xai": ("xai-{A80}",),
    "perplexity": ("pplx-{A48}",),
    "replicate": ("r8_{A37}",),
    "nvidia": ("nvapi-{b64}",),
    "langsmith": ("lsv2_pt_{h32}_{h10}",),
    "github": ("ghp_{A36}", "gho_{A36}", "ghu_{A36}", "ghs_{A36}", "ghr_{A76}", "github_pat_{A22}_{A59}"),
    "gitlab": (
        *("glpat-{b20}", "glptt-{h40}", "glrt-{b20}", "gldt-{b20}", "glcbt-{A2}_{b20}", "gloas-{h64}", "glsoat-{b20}"),
        *("glft-{b20}", "glffct-{b20}", "glimt-{l25}", "glagent-{b50}", "GR1348941{b20}", "glpat-{b27}.{l2}.{l9}"),
    ),
    "atlassian": ("ATATT3xFfGF0{b168}={U8}",),
    "npm": ("npm_{A36}",),
    "pypi": ("pypi-AgEIcHlwaS5vcmc{b150}",),
    "rubygems": ("rubygems_{h48}",),
    "crates.io": ("cio{A32}",),
    "docker": ("dckr_pat_{b27}",),
    "aws": ("AKIA{2x16}", "ASIA{2x16}"),
    "google": ("AIza{b35}", "GOCSPX-{b28}", "ya29.{b180}", "1//0{b99}"),
    "firebase": ("AAAA{b7}:APA91b{b134}",),
    "azure": ("{A3}8Q~{A34}", "AccountKey={B86}==", "https://a.blob.core.windows.net/c?sv=2024&sig={A43}%3D"),
    "digitalocean": ("dop_v1_{h64}", "doo_v1_{h64}", "dor_v1_{h64}"),
    "heroku": ("HRKU-AA{b58}",),
    "fly.io": ("fo1_{b43}", "fm2_{B180}"),
    "netlify": ("nfp_{A36}",),
    "tailscale": ("tskey-api-{A11}CNTRL-{A32}", "tskey-auth-{A12}CNTRL-{A32}"),
    "databricks": ("dapi{h32}", "dapi{h32}-2"),
    "planetscale": ("pscale_tkn_{b43}", "pscale_pw_{b43}"),
    "supabase": ("sbp_{h40}",),
    "airtable": ("pat{A14}.{h64}",),
    "notion": ("ntn_{d11}{A35}", "secret_{A43}"),
    "vault": ("hvs.{b95}", "hvb.{b150}"),
    "terraform": ("{A14}.atlasv1.{b67}",),
    "pulumi": ("pul-{h40}",),
    "doppler": ("dp.pt.{A43}", "dp.st.prd.{A43}"),
    "1password": ("ops_eyJ{B280}", "A3-{U6}-{U6}-{U5}-{U5}-{U5}-{U5}"),
    "age": ("AGE-SECRET-KEY-1{a58}",),
    "new relic": ("NRAK-{U27}",),
    "sentry": ("sntrys_eyJpYXQiO{A120}LCJyZWdpb25fdXJs{A60}_{B43}", "sntryu_{h64}"),
    "grafana": ("glc_eyJ{A120}==", "glsa_{A32}_{h8}"),
    "slack": (
        *("xoxb-{d12}-{d13}-{A24}", "xoxp-{d12}-{d12}-{d13}-{h32}", "xapp-1-{U11}-{d13}-{h64}"),
        "https://hooks.slack.com/services/T{U9}/B{U10}/{A24}",
    ),
    "discord": ("MT{A24}.{b6}.{b38}", "https://discord.com/api/webhooks/{d18}/{b68}"),
    "telegram": ("{d10}:AA{b33}",),
    "linear": ("lin_api_{A40}",),
    "postman": ("PMAK-{h24}-{h34}",),
    "figma": ("figd_{b40}",),
    "stripe": ("sk_live_{A24}", "rk_live_{A99}", "sk_test_{A24}", "whsec_{A32}"),
    "square": ("sq0atp-{b22}", "sq0csp-{b43}", "EAAA{b60}"),
    "braintree": ("access_token$production${l16}${h32}",),
    "shopify": ("shpat_{h32}", "shpss_{h32}", "shpca_{h32}", "shppa_{h32}"),
    "sendgrid": ("SG.{b22}.{b43}",),
    "brevo": ("xkeysib-{h64}-{A16}",),
    "mailgun": ("key-{h32}",),
    "mailchimp": ("{h32}-us12",),
    "twilio": ("SK{h32}",),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{b60}.{b43}",),
    "private key": ("-----BEGIN PRIVATE KEY-----\n{B64}\n{B64}\n{B40}\n-----END PRIVATE KEY-----",
                    "-----BEGIN OPENSSH PRIVATE KEY-----\n{B70}\n{B70}\n{B22}==\n-----END OPENSSH PRIVATE KEY-----"),
}  # fmt: skip
"""Vendor -> formats; `{A36}` are 36 characters of a set."""

CONTEXTS: dict[str, Callable[[str], str]] = {
    "bare": lambda s: s,
    "in a sentence": lambda s: f"I used {s}, and it worked.",
    "quoted": lambda s: f'"{s}"',
    "in backticks": lambda s: f"run it with `{s}` please",
    "JSON": lambda s: json.dumps({"key": s, "n": 1}),
    "JSON in JSON": lambda s: json.dumps(json.dumps({"a": f"x\n{s}\ny"})),
    "query of a URL": lambda s: f"https://api.test/v1?user=1&key={s}&page=2",
    "URL-encoded": lambda s: quote("next=/in?key=" + s, safe="-_.~:$"),
    "header": lambda s: f"X-Api-Key: {s}",
    "bearer header": lambda s: f"-H 'Authorization: Bearer {s}'",
    "shell export": lambda s: f"export THE_CREDENTIAL={s}; run",
    "YAML": lambda s: f"vendor:\n  credential: {s}\n  other: 1",
    "diff": lambda s: f"-cred = 'old'\n+cred = '{s}'\n",
    "diff, bare": lambda s: f"+{s}\n-{s}",
    "log line": lambda s: f"2026-03-01T10:00:00Z INFO [worker] sent cred={s} status=200",
    "Python repr": lambda s: repr({"cred": s, "more": ["x", None]}),
    "after a colon": lambda s: f"cred:{s}",
    "line end CRLF": lambda s: f"one {s}\r\ntwo\r\n",
    "terminal colour": lambda s: f"\x1b[32m{s}\x1b[0m",
    "HTML": lambda s: f"<code>{s}</code>",
}
ASSIGNED: tuple[Callable[[str], str], ...] = (
    lambda s: f"export DB_PASSWORD={s}",
    lambda s: f"SERVICE_TOKEN={s}\r\n",
    lambda s: f'API_KEY="{s}"',
    lambda s: f"aws_secret_access_key = {s}",
    lambda s: json.dumps({"client_secret": s}),
    lambda s: json.dumps(json.dumps({"accessKey": s})),
    lambda s: f"password: {s}",
    lambda s: f"  api_key: '{s}'",
    lambda s: repr({"secret_key": s}),
    lambda s: f"+SECRET_KEY_BASE={s}",
    lambda s: f"const authToken: string = '{s}';",
    lambda s: f"'encryption_key' => '{s}',",
    lambda s: f"postgres://app:{s}@db.internal:5432/main",
    lambda s: f"https://user:{s}@git.test/x.git",
    lambda s: "Authorization: Basic " + base64.b64encode(f"user:{s}".encode()).decode(),
    lambda s: f"authorization: token {s}",
    lambda s: f"Server=db;Uid=app;Password={s};Port=1",
    lambda s: f"POST /login user=a&password={s}&x=1",
)
"""Secrets without a shape of their own, where a name or a place tells them."""


def made(form: str, seeded: random.Random) -> str:
    """A secret in that format."""
    head, *rest = form.split("{")
    for each in rest:
        what, _, tail = each.partition("}")
        count = int(what[1:].lstrip("x"))
        head += "".join(seeded.choices(_SETS[what[0]], k=count)) + tail
    return head


def planted(seed: int, rounds: int) -> Iterator[tuple[str, str, str]]:
    """Vendor, text, and what must not be left in it: every format in every context, so many times."""
    seeded = random.Random(seed)
    for _ in range(rounds):
        for vendor, forms in FORMATS.items():
            for form in forms:
                for name, context in CONTEXTS.items():
                    secret = made(form, seeded)
                    core = max(secret.replace("\n", "/").replace("=", "/").split("/"), key=len)[-18:]
                    if name == "URL-encoded" and quote(secret, safe="-_.~:$") != secret:
                        continue  # what has to be encoded is not covered
                    yield vendor, context(secret), core
        for assigned in ASSIGNED:
            secret = made("{A24}", seeded)
            text = assigned(secret)
            yield "assigned", text, secret[3:18] if secret in text else text[-15:]


_WORDS = ("token", "secret", "password", "key", "user", "value", "next", "parse", "item", "config", "session", "id")


def innocent(seed: int, lines: int) -> Iterator[str]:
    """Lines without a secret, of all that looks like one: code, hashes, ids, lock files, blobs."""
    seeded = random.Random(seed)
    makers = (*_CODE, *_RANDOM)
    for _ in range(lines):
        yield seeded.choice(makers)(seeded)


def _name(seeded: random.Random) -> str:
    return "_".join(seeded.choices(_WORDS, k=seeded.randint(1, 3)))


def _camel(seeded: random.Random) -> str:
    first, *rest = _name(seeded).split("_")
    return first + "".join(each.title() for each in rest)


_CODE: tuple[Callable[[random.Random], str], ...] = (
    lambda r: f"    {_name(r)}_token = self.{_name(r)}.{_name(r)}2",
    lambda r: f"    secret_key = get_random_{_name(r)}()",
    lambda r: f"    password: str = Field(min_length={r.randint(1, 99)})",
    lambda r: f"def {_name(r)}(password: str, token: {_camel(r)}2 | None = None, api_key=api_key2):",
    lambda r: f"    const {_camel(r)}Token = await this.{_camel(r)}({_camel(r)}1);",
    lambda r: f"  token: {_camel(r)}{r.randint(1, 9)},",
    lambda r: f"{_name(r).upper()}_TOKEN = {r.randint(0, 10**6)}",
    lambda r: f"#define {_name(r).upper()}_KEY 0x{r.getrandbits(32):08x}",
    lambda r: f'    token = "{_name(r)}"',
    lambda r: f'  "password": "{_name(r)}_{_name(r)}",',
    lambda r: f"if token == {r.choice(('NAME', 'tok.NUMBER', 'T_1'))} and secret != other[{r.randint(0, 9)}]:",
    lambda r: f"    private_key = rsa.generate_private_key(65537, {r.choice((2048, 4096))})",
    lambda r: f"PASSWORD=${{{_name(r).upper()}}} TOKEN=$(cat /run/{_name(r)}) API_KEY=%{_name(r)}%",
    lambda r: f"<input type=\"password\" name=\"{_camel(r)}\" autocomplete=\"current-password\">",
    lambda r: f".mask-{_name(r)}{{background:url(#{_camel(r)}{r.randint(1, 99)});key-{r.randint(1, 9)}:sk-{_name(r)}}}",
    lambda r: f"!function(e,t){{var n=t.token,i=e.key;return n.password=i||{r.randint(1, 9)}}}({_camel(r)});",
)  # fmt: skip
_RANDOM: tuple[Callable[[random.Random], str], ...] = (
    lambda r: f"{r.getrandbits(160):040x} refs/heads/{_name(r)}",
    lambda r: f"{r.getrandbits(256):064x}  dist/{_name(r)}.tar.gz",
    lambda r: str(uuid.UUID(int=r.getrandbits(128))),
    lambda r: f"index {r.getrandbits(28):07x}..{r.getrandbits(28):07x} 100644",
    lambda r: f'      "integrity": "sha512-{base64.b64encode(r.randbytes(64)).decode()}",',
    lambda r: f'checksum = "{r.getrandbits(256):064x}"',
    lambda r: f'    {{file = "{_name(r)}-1.{r.randint(0, 9)}.tar.gz", hash = "sha256:{r.getrandbits(256):064x}"}},',
    lambda r: f'{{ url = "https://files.test/{_name(r)}.whl", hash = "sha256:{r.getrandbits(256):064x}" }},',
    lambda r: f"{_name(r)} v1.{r.randint(0, 99)}.0 h1:{base64.b64encode(r.randbytes(32)).decode()}",
    lambda r: base64.b64encode(r.randbytes(57)).decode(),
    lambda r: base64.urlsafe_b64encode(r.randbytes(r.randint(20, 90))).decode(),
    lambda r: f"data:image/png;base64,iVBORw0KGgo{base64.b64encode(r.randbytes(60)).decode()}",
    lambda r: f"//# sourceMappingURL=data:application/json;base64,{base64.b64encode(r.randbytes(90)).decode()}",
    lambda r: "".join(r.choices(_SETS["A"], k=r.randint(10, 70))),
    lambda r: f"{_name(r)}.{r.getrandbits(32):08x}.chunk.js {r.randint(1, 999)} kB",
    lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{base64.b64encode(r.randbytes(32)).decode()[:43]} me@host",
)  # fmt: skip
