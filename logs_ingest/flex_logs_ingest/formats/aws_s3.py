"""AWS S3's server access log; the bucket is the site."""

from flex_logs_ingest.formats.format_directive import from_nginx

LAYOUT = from_nginx(
    '$owner $host [$time_local] $client $requester $id $operation $key "$request" '
    "$status $error $bytes_sent $size"
)
