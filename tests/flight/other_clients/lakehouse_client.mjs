// @lakehouse-rs/flight-sql-client; says as JSON what worked.
import { tableFromIPC } from "apache-arrow";
import flight from "@lakehouse-rs/flight-sql-client";

const worked = [];
const [host, port] = process.argv[2].split(":");
const options = { host, port: Number(port), tls: false, headers: [] };
const client = await flight.createFlightSqlClient(options);
const rows = (ipc) => tableFromIPC(ipc).toArray();
const names = rows(await client.query("SELECT name FROM Person ORDER BY name"));
if (names.map((row) => row.name).join() === "Ann,Bob,Cid") worked.push("query");
const catalogs = rows(await client.getCatalogs());
if (catalogs.some((row) => row.catalog_name === "main")) worked.push("catalogs");
const schemas = rows(await client.getDbSchemas({ catalog: "main" }));
if (schemas.some((row) => row.db_schema_name === "nodes")) worked.push("schemas");
const tables = rows(await client.getTables({ includeSchema: false }));
if (tables.some((row) => row.table_name === "Person")) worked.push("tables");
const described = rows(await client.getTables({ includeSchema: true }));
if (described.every((row) => row.table_schema.length > 0)) worked.push("columns");
await client.query("INSERT INTO Person (name) VALUES ('Dee')");
if (rows(await client.query("SELECT name FROM Person")).length === 4) worked.push("update");
const headers = [{ key: "x-omnigraph-slices", value: "3" }];
const sliced = await flight.createFlightSqlClient({ ...options, headers });
if (rows(await sliced.query("SELECT name FROM Person ORDER BY name")).length === 4) {
  worked.push("partitions");
}
try {
  const login = { username: "anybody", password: "anything" };
  const known = await flight.createFlightSqlClient({ ...options, ...login });
  if (rows(await known.query("SELECT 1")).length === 1) worked.push("login");
} catch (error) {
  process.stderr.write(`login: ${error}\n`);
}
try {
  await client.query("SELECT * FRM Person");
} catch (error) {
  if (String(error).includes("parse_error")) worked.push("errors");
}
process.stdout.write(JSON.stringify(worked));
process.exit(0);
