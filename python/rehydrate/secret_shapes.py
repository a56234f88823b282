"""What tokens look like, vendor by vendor: data for `redact`, which says how it is used.

Most prefixes, lengths and alphabets are taken over from the rules of gitleaks, whose notice stands at the end of this
file; the others from the vendors' documentation.

Each shape: kind, literals, what follows one of them, and how many characters stand before the literal.  A literal is
looked for as it is; what follows has no unbounded run, so that an attempt costs a bounded number of characters.
"""

SHAPES: tuple[tuple[str, str, str, tuple[int, ...]], ...] = (
    # Models.
    ("anthropic key", "sk-ant-", r"(?=[a-z_-]{0,19}[A-Z0-9])[A-Za-z0-9_-]{20,256}", (0,)),
    (
        "openai key",
        "sk-proj- sk-svcacct- sk-service- sk-admin-",
        r"(?=[a-z_-]{0,19}[A-Z0-9])[A-Za-z0-9_-]{20,512}",
        (0,),
    ),
    ("openrouter key", "sk-or-v1-", r"[0-9a-f]{40,128}", (0,)),
    ("langfuse key", "sk-lf-", r"[0-9a-f]{8}-[0-9a-f-]{27}", (0,)),
    ("openai key", "sk-", r"[A-Za-z0-9]{32,128}", (0,)),
    ("hugging face token", "hf_", r"[A-Za-z0-9]{34,64}", (0,)),
    ("hugging face token", "api_org_", r"[A-Za-z]{34}(?![A-Za-z0-9])", (0,)),
    ("groq key", "gsk_", r"[A-Za-z0-9]{48,64}", (0,)),
    ("xai key", "xai-", r"[A-Za-z0-9]{70,100}", (0,)),
    ("perplexity key", "pplx-", r"[A-Za-z0-9]{40,64}", (0,)),
    ("replicate token", "r8_", r"[A-Za-z0-9]{37,40}", (0,)),
    ("nvidia key", "nvapi-", r"[A-Za-z0-9_-]{60,80}", (0,)),
    ("langsmith key", "lsv2_pt_ lsv2_sk_", r"[a-f0-9]{32}_[a-f0-9]{10}", (0,)),
    ("pinecone key", "pcsk_", r"[A-Za-z0-9_]{60,80}", (0,)),
    ("elevenlabs key", "sk_", r"[a-f0-9]{48}(?![A-Za-z0-9])", (0,)),
    # Code and packages.
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,255}", (0,)),
    ("github token", "github_pat_", r"[A-Za-z0-9_]{22,255}", (0,)),
    (
        "gitlab token",
        "glpat- glptt- glrt- glrtr- gldt- glcbt- gloas- glsoat- glft- glffct- glimt- glagent- glwt-",
        r"[A-Za-z0-9_-]{20,300}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9})?",
        (0,),
    ),
    ("gitlab token", "GR1348941", r"[A-Za-z0-9_-]{20,40}", (0,)),
    ("bitbucket token", "ATBB", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])", (0,)),
    ("atlassian token", "ATATT3 ATCTT3", r"[A-Za-z0-9_=-]{60,256}", (0,)),
    ("npm token", "npm_", r"[A-Za-z0-9]{36,64}", (0,)),
    ("pypi token", "pypi-", r"[A-Za-z0-9_-]{50,1000}", (0,)),
    ("rubygems token", "rubygems_", r"[a-f0-9]{48}", (0,)),
    ("crates.io token", "cio", r"(?=[A-Za-z]{0,31}[0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9])", (0,)),
    ("nuget key", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])", (0,)),
    ("clojars token", "CLOJARS_", r"[a-f0-9]{60}", (0,)),
    ("docker token", "dckr_pat_ dckr_oat_", r"[A-Za-z0-9_-]{27,64}", (0,)),
    ("artifactory key", "AKCp", r"[A-Za-z0-9]{69}(?![A-Za-z0-9])", (0,)),
    ("artifactory token", "cmVmd", r"[A-Za-z0-9]{59}(?![A-Za-z0-9])", (0,)),
    ("sourcegraph token", "sgp_", r"(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}", (0,)),
    ("circleci token", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{22}_[a-f0-9]{40}", (0,)),
    ("buildkite token", "bkua_", r"[a-f0-9]{40}", (0,)),
    # Clouds.
    ("aws key", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}(?![A-Za-z0-9])", (0,)),
    ("aws bedrock key", "ABSK", r"[A-Za-z0-9+/]{109,269}={0,2}", (0,)),
    ("google key", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9])", (0,)),
    ("google secret", "GOCSPX-", r"[A-Za-z0-9_-]{20,64}", (0,)),
    ("google token", "ya29.", r"[A-Za-z0-9_.-]{20,2048}", (0,)),
    ("google token", "1//0", r"[A-Za-z0-9_-]{60,256}", (0,)),
    ("firebase key", ":APA91b", r"(?<=:APA91b)[A-Za-z0-9_-]{120,180}", (11,)),
    ("azure secret", "Q~", r"[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])", (4,)),
    ("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{64}", (0,)),
    ("alibaba key", "LTAI", r"[A-Za-z0-9]{20}(?![A-Za-z0-9])", (0,)),
    ("heroku key", "HRKU-", r"[A-Za-z0-9_-]{36,64}", (0,)),
    ("fly.io token", "fo1_", r"[A-Za-z0-9_-]{43}(?![A-Za-z0-9])", (0,)),
    ("fly.io token", "fm1a_ fm1r_ fm2_", r"[A-Za-z0-9+/]{100,2000}={0,3}", (0,)),
    ("cloudflare key", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{146}", (0,)),
    ("netlify token", "nfp_", r"[A-Za-z0-9]{36,40}", (0,)),
    ("tailscale key", "tskey-", r"[a-z]{3,10}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,48}", (0,)),
    ("openshift token", "sha256~", r"[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])", (0,)),
    # Data.
    ("databricks token", "dapi", r"[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])", (0,)),
    ("planetscale token", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[A-Za-z0-9=._-]{32,64}", (0,)),
    ("supabase token", "sbp_", r"[a-f0-9]{40}", (0,)),
    ("supabase key", "sb_secret_", r"(?=[a-z_-]{0,19}[A-Z0-9])[A-Za-z0-9_-]{20,64}", (0,)),
    ("airtable token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}", (0,)),
    ("notion token", "ntn_", r"[0-9]{11}[A-Za-z0-9]{35}", (0,)),
    ("notion token", "secret_", r"(?=[A-Za-z]{0,42}[0-9])[A-Za-z0-9]{43}(?![A-Za-z0-9])", (0,)),
    # Vaults and infrastructure.
    ("vault token", "hvs. hvb. hvr.", r"[A-Za-z0-9_-]{24,300}", (0,)),
    ("terraform token", ".atlasv1.", r"[A-Za-z0-9_=-]{60,70}", (14,)),
    ("pulumi token", "pul-", r"[a-f0-9]{40}", (0,)),
    (
        "doppler token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
        (0,),
    ),
    ("1password token", "ops_", r"eyJ[A-Za-z0-9+/_-]{200,2000}={0,3}", (0,)),
    (
        "1password key",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}(?![A-Za-z0-9])",
        (0,),
    ),
    ("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,64}", (0,)),
    # What watches.
    ("new relic key", "NRAK-", r"[A-Z0-9]{27}", (0,)),
    ("sentry token", "sntrys_", r"eyJ[A-Za-z0-9+/=_-]{60,600}", (0,)),
    ("sentry token", "sntryu_ sntrya_", r"[a-f0-9]{64}", (0,)),
    ("grafana token", "glc_", r"[A-Za-z0-9+/]{32,400}={0,3}", (0,)),
    ("grafana token", "glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", (0,)),
    ("grafana token", "eyJrIjoi", r"[A-Za-z0-9+/]{70,400}={0,3}", (0,)),
    ("dynatrace token", "dt0c01. dt0s01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}", (0,)),
    # Work.
    (
        "slack token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-",
        r"(?=[A-Za-z%-]{0,40}[0-9])[A-Za-z0-9%-]{10,512}",
        (0,),
    ),
    ("linear key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{40,64}", (0,)),
    ("postman key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}", (0,)),
    ("figma token", "figd_", r"[A-Za-z0-9_-]{40,64}", (0,)),
    ("dropbox token", "sl.", r"(?:[A-Za-z]\.)?[A-Za-z0-9_-]{130,2000}", (0,)),
    (
        "discord token",
        "MT Mj Mz ND NT Nj Nz OD OT",
        r"[A-Za-z0-9]{20,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])",
        (0,),
    ),
    (
        "jwt",
        "eyJ",
        r"(?<!_eyJ)(?<![A-Za-z0-9_-]-eyJ)[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,16384}(?:\.[A-Za-z0-9_-]{0,4096})?",
        (0,),
    ),
    ("telegram token", ":AA", r"[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])", (10, 9, 8)),
    ("readme key", "rdme_", r"[a-z0-9]{70}", (0,)),
    # Money, shops and mail.
    (
        "stripe key",
        "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_",
        r"[A-Za-z0-9]{16,255}",
        (0,),
    ),
    ("stripe secret", "whsec_", r"[A-Za-z0-9+/]{16,64}={0,2}", (0,)),
    ("square token", "sq0atp- sq0csp-", r"[A-Za-z0-9_-]{22,60}", (0,)),
    ("square token", "EAAA", r"[A-Za-z0-9_-]{60}(?![A-Za-z0-9+/=_-])", (0,)),
    (
        "braintree token",
        "access_token$production$ access_token$sandbox$",
        r"[a-z0-9]{16}\$[a-f0-9]{32}",
        (0,),
    ),
    ("shopify token", "shpat_ shpca_ shppa_ shpss_", r"[A-Fa-f0-9]{32}", (0,)),
    ("easypost key", "EZAK EZTK", r"[A-Za-z0-9]{54}(?![A-Za-z0-9])", (0,)),
    ("facebook token", "EAAM EAAC", r"[A-Za-z0-9]{100,500}", (0,)),
    ("sendgrid key", "SG.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", (0,)),
    ("brevo key", "xkeysib- xsmtpsib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}", (0,)),
    ("mailgun key", "key-", r"(?<![_./]key-)(?<![A-Za-z0-9_./]-key-)[a-f0-9]{32}(?![A-Za-z0-9-])", (0,)),
    ("mailchimp key", "-us", r"[0-9]{1,2}(?![A-Za-z0-9-])", (32,)),
    ("twilio key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])", (0,)),
)

BEFORE = {
    ":APA91b": r"AAAA[A-Za-z0-9_-]{7}",
    "Q~": r"[A-Za-z0-9_~.]{3}[0-9]",
    ".atlasv1.": r"[A-Za-z0-9]{14}",
    ":AA": r"[0-9]{8,10}",
    "-us": r"[a-f0-9]{32}",
}
"""What stands before a literal that is not the beginning."""

KEPT = (
    (
        "slack webhook",
        "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
        r"[A-Za-z0-9/]{24,160}",
    ),
    ("discord webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"[0-9]{17,20}/[A-Za-z0-9_-]{60,80}"),
    ("teams webhook", ".webhook.office.com/webhookb2/", r"[A-Za-z0-9@/-]{60,260}"),
    ("azure key", "AccountKey= SharedAccessKey=", r"[A-Za-z0-9+/]{43,86}={1,2}"),
    ("azure signature", "?sig= &sig=", r"[A-Za-z0-9+/]{1,3}[A-Za-z0-9%+/]{36,120}(?:%3[Dd]|=)"),
)
"""Shapes of which the literal is no secret and stays: kind, literals, what follows."""

# Prefixes, lengths and alphabets of most shapes: https://github.com/gitleaks/gitleaks, config/gitleaks.toml.
#
# MIT License
#
# Copyright (c) 2019 Zachary Rice
#
# Permission is hereby granted, free of charge, to any person obtaining a copy
# of this software and associated documentation files (the "Software"), to deal
# in the Software without restriction, including without limitation the rights
# to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
# copies of the Software, and to permit persons to whom the Software is
# furnished to do so, subject to the following conditions:
#
# The above copyright notice and this permission notice shall be included in all
# copies or substantial portions of the Software.
#
# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
# IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
# FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
# AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
# LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
# OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
# SOFTWARE.
