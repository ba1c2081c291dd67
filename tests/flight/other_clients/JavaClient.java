// Java's FlightSqlClient, the one under the JDBC driver; says as JSON what worked.
// java -cp 'jars/*' --add-opens=java.base/java.nio=ALL-UNNAMED JavaClient.java host:port

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.arrow.flight.CallHeaders;
import org.apache.arrow.flight.CancelFlightInfoRequest;
import org.apache.arrow.flight.CancelStatus;
import org.apache.arrow.flight.CloseSessionRequest;
import org.apache.arrow.flight.FlightCallHeaders;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.GetSessionOptionsRequest;
import org.apache.arrow.flight.HeaderCallOption;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.RenewFlightEndpointRequest;
import org.apache.arrow.flight.SessionOptionValueFactory;
import org.apache.arrow.flight.SetSessionOptionsRequest;
import org.apache.arrow.flight.client.ClientCookieMiddleware;
import org.apache.arrow.flight.sql.FlightSqlClient;
import org.apache.arrow.flight.sql.FlightSqlClient.PreparedStatement;
import org.apache.arrow.flight.sql.FlightSqlClient.Savepoint;
import org.apache.arrow.flight.sql.FlightSqlClient.Transaction;
import org.apache.arrow.flight.sql.impl.FlightSql.CommandStatementIngest.TableDefinitionOptions;
import org.apache.arrow.flight.sql.impl.FlightSql.SqlInfo;
import org.apache.arrow.flight.sql.util.TableRef;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

public class JavaClient {
  private static final String NAMES = "SELECT name FROM Person ORDER BY name";
  private static final TreeSet<String> worked = new TreeSet<>();
  private static FlightSqlClient client;
  private static BufferAllocator memory;

  public static void main(String[] arguments) throws Exception {
    String[] address = arguments[0].split(":");
    Location location = Location.forGrpcInsecure(address[0], Integer.parseInt(address[1]));
    memory = new RootAllocator();
    FlightClient flight =
        FlightClient.builder(memory, location)
            .intercept(new ClientCookieMiddleware.Factory())
            .build();
    client = new FlightSqlClient(flight);
    saw("login", flight.authenticateBasicToken("anybody", "anything").isPresent());
    saw("query", names(client.execute(NAMES)).equals(List.of("Ann", "Bob", "Cid")));
    saw("schema", client.getExecuteSchema(NAMES).getSchema().getFields().size() == 1);
    metadata();
    prepared();
    uploads();
    transactions();
    partitions();
    sessions();
    cancel();
    errors();
    client.close();
    System.out.println(
        worked.stream().map(each -> '"' + each + '"').collect(Collectors.joining(", ", "[", "]")));
    System.exit(0);
  }

  private static void metadata() throws Exception {
    saw("catalogs", cells(client.getCatalogs(), "catalog_name").contains("main"));
    saw("schemas", cells(client.getSchemas("main", null), "db_schema_name").contains("nodes"));
    saw("tables", cells(client.getTables(null, null, null, null, false), "table_name")
        .contains("Person"));
    FlightInfo described = client.getTables(null, null, "Person", List.of("TABLE"), true);
    saw("columns", !cells(described, "table_schema").contains("[]"));
    TableRef person = TableRef.of("main", "nodes", "Person");
    TableRef knows = TableRef.of("main", "edges", "Knows");
    saw("keys",
        cells(client.getPrimaryKeys(person), "column_name").size() == 1
            && cells(client.getImportedKeys(knows), "pk_table_name").size() == 2
            && !cells(client.getExportedKeys(person), "fk_table_name").isEmpty()
            && cells(client.getCrossReference(person, knows), "fk_table_name").size() == 2);
    saw("types",
        !cells(client.getXdbcTypeInfo(), "type_name").isEmpty()
            && cells(client.getTableTypes(), "table_type").containsAll(List.of("TABLE", "VIEW")));
    saw("info",
        cells(client.getSqlInfo(SqlInfo.FLIGHT_SQL_SERVER_NAME), "value").contains("OmniGraph"));
  }

  private static void prepared() throws Exception {
    try (PreparedStatement statement = client.prepare("SELECT name FROM Person WHERE name = ?");
        VectorSchemaRoot values = texts("1", "Bob")) {
      statement.setParameters(values);
      saw("parameters", names(statement.execute()).equals(List.of("Bob")));
    }
    try (PreparedStatement statement = client.prepare("INSERT INTO Person (name) VALUES (?)");
        VectorSchemaRoot values = texts("1", "Dee", "Eli")) {
      statement.setParameters(values);
      saw("many rows", statement.executeUpdate() == 2 && names(client.execute(NAMES)).size() == 5);
    }
    long gone = client.executeUpdate("DELETE FROM Person WHERE name IN ('Dee', 'Eli')");
    saw("update", gone == 2 && names(client.execute(NAMES)).size() == 3);
  }

  private static void uploads() throws Exception {
    try (VectorSchemaRoot rows = texts("word", "one", "two")) {
      TableDefinitionOptions create =
          TableDefinitionOptions.newBuilder()
              .setIfNotExist(
                  TableDefinitionOptions.TableNotExistOption.TABLE_NOT_EXIST_OPTION_CREATE)
              .setIfExists(TableDefinitionOptions.TableExistsOption.TABLE_EXISTS_OPTION_REPLACE)
              .build();
      long count =
          client.executeIngest(
              rows,
              new FlightSqlClient.ExecuteIngestOptions("words", create, null, null, null));
      saw("uploads", count == 2 && names(client.execute("SELECT word FROM words")).size() == 2);
    }
  }

  private static void transactions() throws Exception {
    Transaction first = client.beginTransaction();
    client.executeUpdate("INSERT INTO Person (name) VALUES ('Fay')", first);
    boolean apart =
        names(client.execute(NAMES, first)).size() == 4 && names(client.execute(NAMES)).size() == 3;
    client.rollback(first);
    Transaction second = client.beginTransaction();
    client.executeUpdate("INSERT INTO Person (name) VALUES ('Gus')", second);
    Savepoint savepoint = client.beginSavepoint(second, "before");
    client.executeUpdate("INSERT INTO Person (name) VALUES ('Hal')", second);
    // In 18.3 this asks for a release, not for a rollback, so that Hal stays.
    client.rollback(savepoint);
    client.commit(second);
    List<String> after = names(client.execute(NAMES));
    saw("transactions", apart && after.contains("Gus") && !after.contains("Fay"));
    saw("savepoints", after.contains("Gus") && !after.contains("Hal"));
  }

  private static void partitions() throws Exception {
    CallHeaders headers = new FlightCallHeaders();
    headers.insert("x-omnigraph-slices", "3");
    FlightInfo info = client.execute(NAMES, new HeaderCallOption(headers));
    List<FlightEndpoint> endpoints = new ArrayList<>(info.getEndpoints());
    FlightEndpoint renewed =
        client.renewFlightEndpoint(new RenewFlightEndpointRequest(endpoints.get(0)));
    endpoints.set(0, renewed);
    List<String> found = new ArrayList<>();
    for (FlightEndpoint endpoint : endpoints) {
      found.addAll(read(endpoint, null));
    }
    saw("partitions", endpoints.size() == 3 && found.equals(names(client.execute(NAMES))));
  }

  private static void sessions() throws Exception {
    var chosen = new HashMap<String, org.apache.arrow.flight.SessionOptionValue>();
    chosen.put("dialect", SessionOptionValueFactory.makeSessionOptionValue("duckdb"));
    boolean set = !client.setSessionOptions(new SetSessionOptionsRequest(chosen)).hasErrors();
    var told = client.getSessionOptions(new GetSessionOptionsRequest()).getSessionOptions();
    boolean seen = told.get("dialect").toString().contains("duckdb");
    client.closeSession(new CloseSessionRequest());
    saw("sessions", set && seen);
  }

  private static void cancel() throws Exception {
    FlightInfo info = client.execute(NAMES);
    boolean told =
        client.cancelFlightInfo(new CancelFlightInfoRequest(info)).getStatus()
            == CancelStatus.CANCELLED;
    saw("cancel", told && refused(() -> names(info), FlightStatusCode.CANCELLED));
  }

  private static void errors() {
    saw("errors",
        refused(() -> client.execute("SELECT * FRM Person"), FlightStatusCode.INVALID_ARGUMENT)
            && refused(() -> client.execute("SELECT 1 FROM Nobody"), FlightStatusCode.NOT_FOUND));
  }

  private static void saw(String feature, boolean whether) {
    if (whether) {
      worked.add(feature);
    }
  }

  private interface Risky {
    void run() throws Exception;
  }

  private static boolean refused(Risky what, FlightStatusCode code) {
    try {
      what.run();
      return false;
    } catch (FlightRuntimeException error) {
      return error.status().code() == code && !error.getMessage().contains("Traceback");
    } catch (Exception error) {
      return false;
    }
  }

  private static VectorSchemaRoot texts(String column, String... values) {
    Schema schema = new Schema(List.of(Field.nullable(column, new ArrowType.Utf8())));
    VectorSchemaRoot root = VectorSchemaRoot.create(schema, memory);
    VarCharVector vector = (VarCharVector) root.getVector(0);
    for (int row = 0; row < values.length; row++) {
      vector.setSafe(row, values[row].getBytes(StandardCharsets.UTF_8));
    }
    root.setRowCount(values.length);
    return root;
  }

  private static List<String> names(FlightInfo info) throws Exception {
    return cells(info, null);
  }

  private static List<String> cells(FlightInfo info, String column) throws Exception {
    List<String> found = new ArrayList<>();
    for (FlightEndpoint endpoint : info.getEndpoints()) {
      found.addAll(read(endpoint, column));
    }
    return found;
  }

  private static List<String> read(FlightEndpoint endpoint, String column) throws Exception {
    List<String> found = new ArrayList<>();
    try (FlightStream stream = client.getStream(endpoint.getTicket())) {
      while (stream.next()) {
        VectorSchemaRoot root = stream.getRoot();
        FieldVector vector = column == null ? root.getVector(0) : root.getVector(column);
        for (int row = 0; row < root.getRowCount(); row++) {
          found.add(String.valueOf(vector.getObject(row)));
        }
      }
    }
    return found;
  }
}
