// @lancedb/arrow-flight-sql-client; says as JSON what worked.
import { Client } from "@lancedb/arrow-flight-sql-client";

const worked = [];
const client = await Client.connect({
  host: process.argv[2],
  insecure: true,
  username: "anybody",
  password: "anything",
});
worked.push("login");
const rows = async (sql) => (await client.query(sql)).collectToObjects();
const names = (await rows("SELECT name FROM Person ORDER BY name")).map((row) => row.name);
if (names.join() === "Ann,Bob,Cid") worked.push("query");
await rows("INSERT INTO Person (name) VALUES ('Dee')");
if ((await rows("SELECT name FROM Person")).length === 4) worked.push("update");
try {
  await rows("SELECT * FRM Person");
} catch (error) {
  if (String(error).includes("parse_error")) worked.push("errors");
}
process.stdout.write(JSON.stringify(worked));
process.exit(0);
