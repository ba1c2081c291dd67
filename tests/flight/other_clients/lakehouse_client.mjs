// @lakehouse-rs/flight-sql-client; says as JSON what worked.
import { tableFromIPC } from "apache-arrow";
import flight from "@lakehouse-rs/flight-sql-client";

const worked = [];
const [host, port] = process.argv[2].split(":");
const client = await flight.createFlightSqlClient({
  host,
  port: Number(port),
  tls: false,
  headers: [],
});
const rows = (ipc) => tableFromIPC(ipc).toArray();
const names = rows(await client.query("SELECT name FROM Person ORDER BY name"));
if (names.map((row) => row.name).join() === "Ann,Bob,Cid") worked.push("query");
const catalogs = rows(await client.getCatalogs());
if (catalogs.some((row) => row.catalog_name === "main")) worked.push("catalogs");
const tables = rows(await client.getTables({ includeSchema: false }));
if (tables.some((row) => row.table_name === "Person")) worked.push("tables");
const described = rows(await client.getTables({ includeSchema: true }));
if (described.every((row) => row.table_schema.length > 0)) worked.push("columns");
await client.query("INSERT INTO Person (name) VALUES ('Dee')");
if (rows(await client.query("SELECT name FROM Person")).length === 4) worked.push("update");
process.stdout.write(JSON.stringify(worked));
process.exit(0);
