// A web service in Go for the relay's checks: prints a line of JSON for each request, and answers as the body says.
//
// A body is {"answers": [{"status": 503, "headers": {"Retry-After": "1"}, "wait": "2s"}, ...]}: an element for each time
// that the body comes, and 200 from then on. GET /ok is the health check.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

type answer struct {
	Status  int
	Headers map[string]string
	Wait    string
}

type service struct {
	mutex      sync.Mutex
	times      map[string]int
	checks     int
	good, bad  int
	out        *json.Encoder
	connection map[string]int
}

func (s *service) note(r *http.Request, body []byte) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	time := s.times[string(body)]
	s.times[string(body)]++
	if _, known := s.connection[r.RemoteAddr]; !known {
		s.connection[r.RemoteAddr] = len(s.connection)
	}
	s.out.Encode(map[string]any{"method": r.Method, "target": r.RequestURI, "proto": r.Proto, "host": r.Host,
		"headers": r.Header, "body": string(body), "time": time, "connection": s.connection[r.RemoteAddr]})
	return time
}

// healthy counts checks: so many are good, then so many bad, and so on.
func (s *service) healthy() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.checks++
	return s.bad == 0 || s.checks%(s.good+s.bad) < s.good
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ok" {
		if !s.healthy() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked is gone
	}
	time := s.note(r, body)
	var plan struct{ Answers []answer }
	if json.Unmarshal(body, &plan) != nil || time >= len(plan.Answers) {
		return
	}
	carryOut(w, r, plan.Answers[time])
}

func carryOut(w http.ResponseWriter, r *http.Request, a answer) {
	if wait, err := time.ParseDuration(a.Wait); err == nil {
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
	}
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
}

func main() {
	certificate := flag.String("cert", "", "PEM; with -key: TLS")
	key := flag.String("key", "", "PEM")
	oldest := flag.Bool("tls12", false, "TLS 1.2 and no later")
	socket := flag.String("unix", "", "listen on this socket")
	flap := flag.String("flap", "0,0", "so many good health checks, so many bad ones")
	flag.Parse()

	s := &service{times: map[string]int{}, connection: map[string]int{}, out: json.NewEncoder(os.Stdout)}
	fmt.Sscanf(*flap, "%d,%d", &s.good, &s.bad)
	network, address := "tcp", "127.0.0.1:0"
	if *socket != "" {
		network, address = "unix", *socket
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: s}
	fmt.Println(listener.Addr())
	if *certificate == "" {
		log.Fatal(server.Serve(listener))
	}
	if *oldest {
		server.TLSConfig = &tls.Config{MaxVersion: tls.VersionTLS12}
	}
	log.Fatal(server.ServeTLS(listener, *certificate, *key))
}
