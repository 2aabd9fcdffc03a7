"""Trees of files as control panels leave them: where each keeps its sites, with what stands beside.

Takes a folder and sites. Writes the files that a machine with the panel has, secrets and other
sites' files included. Who reads them is told nothing that the panel does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Stands in every file that has passwords or keys, on any panel.
SECRET = "S3cr3tOfSomebody"
HOMES = "/home"


@dataclass(frozen=True, slots=True)
class Hosted:
    """A site as a test wants it, with the account that has it and its other names."""

    name: str
    user: str
    others: tuple[str, ...] = ()


def some_sites(count: int, domain: str = "hosting.example") -> list[Hosted]:
    return [
        Hosted(f"s{number}.{domain}", f"u{number}", (f"www.s{number}.{domain}",))
        for number in range(count)
    ]


def put(root: Path, path: str, text: str) -> Path:
    made = root / path.lstrip("/")
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(text, encoding="utf-8")
    return made


def hestia(root: Path, sites: Sequence[Hosted]) -> dict[str, Path]:
    home = "/usr/local/hestia"
    put(
        root,
        f"{home}/conf/hestia.conf",
        "WEB_SYSTEM='apache2'\nWEB_PORT='8080'\nPROXY_SYSTEM='nginx'\nDNS_SYSTEM='bind9'\n"
        f"API='no'\nDB_PASSWORD='{SECRET}'\n",
    )
    lines: dict[str, list[str]] = {}
    for one in sites:
        lines.setdefault(one.user, []).append(
            f"DOMAIN='{one.name}' IP='192.0.2.11' IP6='' CUSTOM_DOCROOT='' "
            f"ALIAS='{','.join(one.others)}' TPL='default' SSL='yes' SSL_FORCE='no' "
            "SSL_HOME='same' LETSENCRYPT='yes' FTP_USER='' "
            f"FTP_MD5='{SECRET}' BACKEND='PHP-8_2' PROXY='default' PROXY_EXT='jpg,png' "
            f"STATS='' STATS_USER='' STATS_CRYPT='{SECRET}' U_DISK='0' U_BANDWIDTH='0' "
            "SUSPENDED='no' TIME='10:00:00' DATE='2026-01-02'\n"
        )
    for user, of_user in lines.items():
        put(root, f"{home}/data/users/{user}/web.conf", "".join(of_user))
        put(root, f"{home}/data/users/{user}/user.conf", f"MD5='{SECRET}'\n")
    folder = "/var/log/apache2/domains"
    logs: dict[str, Path] = {}
    for one in sites:
        logs[one.name] = put(root, f"{folder}/{one.name}.log", "")
        put(root, f"{folder}/{one.name}.error.log", "an error\n")
        put(root, f"{folder}/{one.name}.bytes", "123\n")
    return logs


def directadmin(root: Path, sites: Sequence[Hosted]) -> dict[str, Path]:
    """The first site of an account is its domain; names below it are subdomains."""
    users = "/usr/local/directadmin/data/users"
    logs: dict[str, Path] = {}
    by_user: dict[str, list[Hosted]] = {}
    for one in sites:
        by_user.setdefault(one.user, []).append(one)
    for user, of_user in by_user.items():
        put(root, f"{users}/{user}/user.conf", f"username={user}\npasswd={SECRET}\n")
        domains: list[str] = []
        for one in of_user:
            above = next((d for d in domains if one.name.endswith(f".{d}")), "")
            base = f"{users}/{user}/domains/{above or one.name}"
            if above:
                path = root / f"{base}.subdomains".lstrip("/")
                label = one.name.removesuffix(f".{above}")
                path.write_text(path.read_text() + f"{label}\n", encoding="utf-8")
                name = f"{above}.{label}"
            else:
                domains.append(one.name)
                name = one.name
                put(
                    root,
                    f"{base}.conf",
                    f"UseCanonicalName=OFF\nactive=yes\nbandwidth=unlimited\ncgi=ON\n"
                    f"defaultdomain=yes\ndomain={one.name}\nip=192.0.2.11\nopen_basedir=ON\n"
                    f"php=ON\nsuspended=no\nusername={user}\n",
                )
                put(root, f"{base}.subdomains", "")
                pointers = [p for p in one.others if p != f"www.{one.name}"]
                put(root, f"{base}.pointers", "".join(f"{p}=type=alias\n" for p in pointers))
                put(root, f"{base}.ftp", f"{user}={SECRET}\n")
            logs[one.name] = put(root, f"/var/log/httpd/domains/{name}.log", "")
            put(root, f"/var/log/httpd/domains/{name}.error.log", "an error\n")
            put(root, f"/var/log/httpd/domains/{name}.bytes", "1\n")
        put(root, f"{users}/{user}/domains.list", "".join(f"{d}\n" for d in domains))
    return logs


def cpanel(root: Path, sites: Sequence[Hosted]) -> dict[str, Path]:
    userdata, domlogs = "/var/cpanel/userdata", "/etc/apache2/logs/domlogs"
    by_user: dict[str, list[Hosted]] = {}
    for one in sites:
        by_user.setdefault(one.user, []).append(one)
    logs: dict[str, Path] = {}
    put(root, "/var/cpanel/users/root", f"PASSWORD={SECRET}\n")
    put(root, f"{userdata}/nobody/main", "---\nmain_domain: host.example\n")
    for user, of_user in by_user.items():
        first, *subs = of_user
        listed = "".join(f"\n  - {one.name}" for one in subs) or " []"
        put(
            root,
            f"{userdata}/{user}/main",
            f"---\naddon_domains: {{}}\nmain_domain: {first.name}\nparked_domains: []\n"
            f"sub_domains:{listed}\n",
        )
        put(root, f"{userdata}/{user}/cache.json", f'{{"secret": "{SECRET}"}}')
        for one in of_user:
            services = f"mail.{one.name} {' '.join(one.others)}"
            for kind in ("", "_SSL"):
                log = f"{domlogs}/{one.name}{'-ssl_log' if kind else ''}"
                put(
                    root,
                    f"{userdata}/{user}/{one.name}{kind}",
                    "---\ncustomlog:\n  -\n    format: combined\n"
                    f"    target: {log}\n  -\n"
                    '    format: "\\"%{%s}t %I .\\\\n%{%s}t %O .\\""\n'
                    f"    target: {domlogs}/{one.name}-bytes_log\n"
                    f"documentroot: {HOMES}/{user}/public_html\ngroup: {user}\nhascgi: 1\n"
                    f"homedir: {HOMES}/{user}\nip: 192.0.2.11\nowner: root\n"
                    f"phpversion: ea-php82\nport: '80'\nserveradmin: webmaster@{one.name}\n"
                    f"serveralias: {services.strip()}\nservername: {one.name}\n"
                    f"usecanonicalname: 'Off'\nuser: {user}\n",
                )
                logs[one.name] = put(root, log, "")
            logs[one.name] = root / f"{domlogs}/{one.name}".lstrip("/")
            put(root, f"{domlogs}/{one.name}-bytes_log", "1700000000 17 .\n")
    return logs


def plesk(root: Path, sites: Sequence[Hosted]) -> dict[str, Path]:
    system = "/var/www/vhosts/system"
    logs: dict[str, Path] = {}
    put(root, "/etc/psa/.psa.shadow", SECRET)
    for one in sites:
        base = f"{system}/{one.name}"
        aliases = "".join(f'\tServerAlias "{name}"\n' for name in one.others)
        hosts = "".join(
            f"<VirtualHost 192.0.2.11:{port} >\n"
            f'\tServerName "{one.name}:{named}"\n{aliases}'
            f'\tServerAlias "ipv4.{one.name}"\n\tUseCanonicalName Off\n'
            f'\tDocumentRoot "/var/www/vhosts/{one.name}/httpdocs"\n'
            f"\tCustomLog {base}/logs/{log} plesklog\n"
            f'\tErrorLog "{base}/logs/error_log"\n'
            f'\t<Directory "/var/www/vhosts/{one.name}/httpdocs">\n\t</Directory>\n'
            "</VirtualHost>\n"
            for port, named, log in ((7081, 443, "access_ssl_log"), (7080, 80, "access_log"))
        )
        put(
            root,
            f"{base}/conf/httpd.conf",
            f"#ATTENTION!\n<IfModule mod_ssl.c>\n{hosts}</IfModule>\n",
        )
        names = "".join(f"\tserver_name {name};\n" for name in (one.name, *one.others))
        put(
            root,
            f"{base}/conf/nginx.conf",
            f"server {{\n\tlisten 192.0.2.11:443 ssl;\n{names}"
            f"\tssl_certificate_key /opt/psa/var/certificates/x;\n"
            f'\troot "/var/www/vhosts/{one.name}/httpdocs";\n'
            f'\taccess_log "{base}/logs/proxy_access_ssl_log";\n'
            "\tlocation / {\n\t\tproxy_pass https://192.0.2.11:7081;\n\t}\n}\n",
        )
        logs[one.name] = put(root, f"{base}/logs/proxy_access_ssl_log", "")
        put(root, f"{base}/logs/access_ssl_log", "")
        put(root, f"{base}/logs/error_log", "an error\n")
        put(root, f"/var/www/vhosts/{one.name}/httpdocs/index.php", f"<?php // {SECRET}\n")
    return logs


def ispconfig(root: Path, sites: Sequence[Hosted]) -> dict[str, Path]:
    available, enabled = "/etc/apache2/sites-available", "/etc/apache2/sites-enabled"
    put(root, "/usr/local/ispconfig/server/lib/config.inc.php", f"<?php // {SECRET}\n")
    put(
        root,
        f"{available}/ispconfig.vhost",
        "<VirtualHost _default_:8080>\n  ServerName panel.hosting.example\n</VirtualHost>\n",
    )
    (root / enabled.lstrip("/")).mkdir(parents=True, exist_ok=True)
    (root / f"{enabled}/000-ispconfig.vhost".lstrip("/")).symlink_to(f"{available}/ispconfig.vhost")
    logs: dict[str, Path] = {}
    for number, one in enumerate(sites):
        home = f"/var/www/clients/client1/web{number}"
        aliases = "".join(f"\t\tServerAlias {name}\n" for name in one.others)
        hosts = "".join(
            f"<VirtualHost *:{port}>\n\t\t\t\t\tDocumentRoot /var/www/{one.name}/web\n\n"
            f"\t\tServerName {one.name}\n{aliases}\t\tServerAdmin webmaster@{one.name}\n"
            f"\t\tErrorLog /var/log/ispconfig/httpd/{one.name}/error.log\n"
            f"\t\t<Directory {home}/web>\n\t\t</Directory>\n</VirtualHost>\n"
            for port in (80, 443)
        )
        put(root, f"{available}/{one.name}.vhost", hosts)
        (root / f"{enabled}/100-{one.name}.vhost".lstrip("/")).symlink_to(
            f"{available}/{one.name}.vhost"
        )
        folder = f"/var/log/ispconfig/httpd/{one.name}"
        logs[one.name] = put(root, f"{folder}/20260302-access.log", "")
        (root / f"{folder}/access.log".lstrip("/")).symlink_to("20260302-access.log")
        put(root, f"{folder}/error.log", "an error\n")
    return logs


def nginx(root: Path, sites: Sequence[Hosted]) -> dict[str, Path]:
    """No panel: a file for each site, in a folder that the server includes."""
    put(root, "/etc/nginx/nginx.conf", "http {\n  include /etc/nginx/sites-enabled/*;\n}\n")
    logs: dict[str, Path] = {}
    for one in sites:
        put(
            root,
            f"/etc/nginx/sites-available/{one.name}",
            f"server {{\n  listen 80;\n  server_name {one.name} {' '.join(one.others)};\n"
            f"  root /srv/www/{one.name};\n"
            f"  access_log /var/log/nginx/{one.name}.access.log combined;\n}}\n",
        )
        enabled = root / "etc/nginx/sites-enabled"
        enabled.mkdir(parents=True, exist_ok=True)
        (enabled / one.name).symlink_to(f"../sites-available/{one.name}")
        logs[one.name] = put(root, f"/var/log/nginx/{one.name}.access.log", "")
    return logs


def apache(root: Path, sites: Sequence[Hosted]) -> dict[str, Path]:
    """No panel: one file with all sites, and one log of all."""
    hosts = "".join(
        f"<VirtualHost *:80>\n  ServerName {one.name}\n  ServerAlias {' '.join(one.others)}\n"
        f"  DocumentRoot /srv/www/{one.name}\n"
        "  CustomLog ${APACHE_LOG_DIR}/access.log vhost_combined\n</VirtualHost>\n"
        for one in sites
    )
    put(root, "/etc/apache2/sites-enabled/all.conf", hosts)
    log = put(root, "/var/log/apache2/access.log", "")
    return {one.name: log for one in sites}


Tree = Callable[[Path, Sequence[Hosted]], dict[str, Path]]
# By the name that is said where it is found.
PANELS: Mapping[str, Tree] = {
    "cPanel": cpanel,
    "Plesk": plesk,
    "ISPConfig": ispconfig,
    "DirectAdmin": directadmin,
    "HestiaCP": hestia,
}
WITHOUT_PANEL: Mapping[str, Tree] = {"nginx": nginx, "Apache": apache}
EVERY = {**PANELS, **WITHOUT_PANEL}
