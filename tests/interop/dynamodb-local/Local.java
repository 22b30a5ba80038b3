// Serves DynamoDB Local, in memory, on 127.0.0.1 (its own command listens on every interface) and prints where, as JSON.
//
// usage: Local PORT
import java.io.PrintStream;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

class Local {
    public static void main(String[] words) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // it tells its settings there
        String[] settings = {"-inMemory", "-sharedDb", "-disableTelemetry", "-port", words[0]};
        DynamoDBProxyServer service = ServerRunner.createServerFromCommandLineArgs(settings);
        var inner = DynamoDBProxyServer.class.getDeclaredField("server");
        inner.setAccessible(true);
        for (var connector : ((Server) inner.get(service)).getConnectors()) {
            ((ServerConnector) connector).setHost("127.0.0.1");
        }
        service.safeStart();
        out.println("{\"url\": \"http://127.0.0.1:" + words[0] + "\"}");
        System.in.read(); // until whoever started this ends
        System.exit(0);
    }
}
