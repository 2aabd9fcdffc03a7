<?php
// Counts, as a shop counts orders: each write goes into the site's table and into a file below its
// document root. POST /?id=N writes; GET / says the highest number of each, and which node answers.
// Where it is to fail it says so behind that: it may have written what nobody was told of.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$node = $_SERVER['FLEX_NODE'];
$file = $_SERVER['FLEX_ROOT'] . '/orders';
try {
    $database = str_replace('.', '_', $_SERVER['HTTP_HOST']);
    $orders = new mysqli('localhost', 'root', '', $database, 0, $_SERVER['FLEX_DATABASE']);
    if ($_SERVER['REQUEST_METHOD'] === 'POST') {
        $id = (int) $_GET['id'];
        $orders->query("INSERT INTO orders (id, node) VALUES ($id, '$node')");
        // A file that is not there is not made: the site's content is somewhere else then.
        $open = fopen($file, 'r+');
        if (!$open || !flock($open, LOCK_EX) || fseek($open, 0, SEEK_END)
            || !fwrite($open, "$id\n") || !fflush($open) || !fclose($open)) {
            throw new Exception('the file takes nothing');
        }
        $said = $id;
    } else {
        $highest = $orders->query('SELECT COALESCE(MAX(id), 0) FROM orders')->fetch_row()[0];
        $text = file_get_contents($file, false, null, max(0, filesize($file) - 4096));
        $last = max([0, ...array_map('intval', explode("\n", $text))]);
        $said = "$highest $last";
    }
    if (is_file($_SERVER['FLEX_FAILING'])) {
        throw new Exception('it fails');
    }
    echo "$said $node";
} catch (Throwable $error) {
    http_response_code(500);
    echo $error->getMessage();
}
