"""Names that say that a file holds credentials, and names that only look so."""

import pytest

from rehydrate.credentials import is_secret


def words(text: str) -> list[str]:
    return text.split()


SECRET = words("""
.env .env.local .env.production .env~ .env.bak .env-staging .envrc prod.env .ENV
id_rsa id_dsa id_ecdsa_sk id_ed25519 id_ed25519_work id_rsa.old ID_RSA ssh_host_ed25519_key
server.pem server.key AuthKey_X1.p8 x.p12 x.pfx x.jks x.keystore x.keytab x.ppk x.kdbx x.ovpn server.key.bak server.pem~
.ssh/config .gnupg/pubring.kbx .aws/config .azure/msal_token_cache.json .kube/config .oci/config .mozilla/x/prefs.js
.config/gcloud/properties .config/gcloud/configurations/config_default .config/op/config .docker/config.json
.netrc _netrc .npmrc .pypirc .git-credentials .gitcookies .config/git/credentials
.cargo/credentials .cargo/credentials.toml
.gem/credentials .m2/settings.xml .gradle/gradle.properties .composer/auth.json .bundle/config .terraformrc
.terraform.d/credentials.tfrc.json .config/gh/hosts.yml .config/hub .config/glab-cli/config.yml .dbt/profiles.yml
.pgpass .my.cnf .mylogin.cnf .htpasswd .vault-token .s3cfg .databrickscfg .authinfo.gpg .config/rclone/rclone.conf
terraform.tfstate terraform.tfstate.backup terraform.tfvars prod.auto.tfvars secrets.tfvars.json
credentials.json client_secret.json client_secret_12-ab.apps.example.json service-account.json my-service_account-2.json
gcp.serviceAccount.json app-firebase-adminsdk-x1.json application_default_credentials.json kaggle.json
.cache/huggingface/token .claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json
cookies cookies.txt logins.json x/Library/Cookies/y .config/google-chrome/Default/Preferences Library/Keychains/metadata
.local/share/keyrings/login etc/wireguard/wg0.conf etc/shadow etc/shadow-
.bash_history .zsh_history .python_history .psql_history fish_history .lesshst .viminfo .Xauthority
#.env# C:\\Users\\me\\.ssh\\config C:\\Users\\me\\.env
""")
SECRET += ["Login Data", ".env ", "server.pem .", "x/Library/Application Support/Google/Chrome/Default/History"]

ORDINARY = words("""
secrets.py secrets.yaml secret.go token.rs tokens.json token passwords.md credentials.py credentials.md auth.ts auth.md
env.example .env.example .env.sample .env.template .env.local.example .env.dist .envoy.yaml environment.py env.py
.environment-notes.md venv/x.py keys.txt key keyboard.py monkey config.json config.yml hosts.yml settings.xml
gradle.properties id_rsa.pub id_card.py identity.py ssh_config service-account.yaml service_account.py client_secret.py
variables.tf main.tf terraform.tfvars.example credentials.json.example history.py shell_history.md known.history
cookies.py cookie.js login_data.py shadow.css docker/config.json keyrings/core.py hub.py .config/nvim/init.lua
Library/x.py .circleci/config.yml .bundle.js .npmignore .gitconfig .gitignore .yarnrc.yml pem.py key.ts.md
""")


@pytest.mark.parametrize("name", SECRET)
def test_F54_what_holds_credentials_by_its_name(name: str) -> None:
    assert all(is_secret(above + name) for above in ("/", "/home/me/", ""))


@pytest.mark.parametrize("name", ORDINARY)
def test_F54_what_does_not(name: str) -> None:
    assert not is_secret(f"/home/me/work/{name}")


@pytest.mark.parametrize(
    "name",
    [
        *("\uff0eenv", ".\u24d4nv", "x.\u212aey", ".env\u200d", ".e\u200bnv", "\ufeff.netrc", ".s\u017fh/x"),
        *(".ss\u00adh/config", "cookie\u017f", "server.pe\u2060m", ".\U000e0001git-credentials", "\u212btoken/.env"),
    ],
)
def test_F50_aliases_that_a_file_system_may_take_for_such_a_name(name: str) -> None:
    assert is_secret(f"/w/{name}")
