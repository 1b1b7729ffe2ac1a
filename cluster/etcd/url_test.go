package etcd

import (
	"reflect"
	"strings"
	"testing"
)

func TestURL(t *testing.T) {
	type parsed struct {
		Endpoints              []string
		User, Password, Prefix string
		TLS                    bool
	}
	for url, want := range map[string]parsed{
		"etcd://localhost:2379":                     {Endpoints: []string{"http://localhost:2379"}},
		"etcd://a:1,b:2/team/locks/":                {Endpoints: []string{"http://a:1", "http://b:2"}, Prefix: "team/locks/"},
		"etcd://root:p%40ss%3Aword@[::1]:2379":      {Endpoints: []string{"http://[::1]:2379"}, User: "root", Password: "p@ss:word"},
		"etcds://a:1":                               {Endpoints: []string{"https://a:1"}, TLS: true},
		"etcd://u:p@ss@a:1":                         {Endpoints: []string{"http://a:1"}, User: "u", Password: "p@ss"},
		"etcds://root@etcd-1:2379,etcd-2:2379/apps": {Endpoints: []string{"https://etcd-1:2379", "https://etcd-2:2379"}, User: "root", Prefix: "apps", TLS: true},
	} {
		config, o, err := parse(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := parsed{config.Endpoints, config.Username, config.Password, o.Prefix, config.TLS != nil}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", url, got, want)
		}
	}
}

func TestURLErrorsShowNoPassword(t *testing.T) {
	for _, url := range []string{
		"http://u:secret@a:1",
		"u:secret@a:1",
		"etcd://u:secret%zz@a:1",
		"etcd://u%zz:secret@a:1",
		"etcd://u:secret@",
		"etcd://u:secret@a:1,,b:2",
		"etcd://u:secret@a:1/p?nonsense=1",
		"etcd://u:secret@a:1?cacert=%zz",
		"etcds://u:secret@a:1?cacert=/does/not/exist",
	} {
		_, _, err := parse(url)
		if err == nil {
			t.Errorf("%s: no error", url)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", url, err)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %v", url, err)
		}
	}
}
