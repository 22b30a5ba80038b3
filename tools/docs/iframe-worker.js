// The search of the pages runs in a worker, which browsers refuse to pages that are opened as files. There a hidden frame takes
// the worker's place.
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            this.frame = document.createElement("iframe");
            this.frame.hidden = true;
            document.body.append(this.frame);
            const inside = this.frame.contentWindow;
            inside.document.open();
            inside.document.write("<body></body>");
            inside.document.close();
            inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
            const script = inside.document.createElement("script");
            script.src = url;
            this.ready = new Promise(resolve => { script.onload = resolve; });
            inside.document.body.append(script);
        }

        postMessage(data) {
            this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data})));
        }

        terminate() {
            this.frame.remove();
        }
    };
}
