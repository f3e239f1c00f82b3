// Search of the site when it is opened as files. Browsers start no worker from a file, so the
// script of the worker runs in a hidden frame. Through a server, the worker of the browser is used.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.scope = new Promise((resolve, reject) => {
        const start = () => {
          const scope = frame.contentWindow;
          scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          scope.importScripts = (...urls) => Promise.all(urls.map((one) => load(scope, one)));
          load(scope, url).then(() => resolve(scope), reject);
        };
        frame.addEventListener("load", start, { once: true });
      });
      document.body.append(frame);
    }

    async postMessage(data) {
      const scope = await this.scope;
      scope.dispatchEvent(new scope.MessageEvent("message", { data }));
    }
  };

  const load = (scope, url) =>
    new Promise((resolve, reject) => {
      const script = scope.document.createElement("script");
      script.src = new URL(url, location.href).href;
      script.addEventListener("load", resolve);
      script.addEventListener("error", reject);
      scope.document.head.append(script);
    });
}
