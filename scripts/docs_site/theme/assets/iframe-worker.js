// Browsers start no worker for a page that was opened as a file. There, and only there, a hidden frame takes its
// place: it runs the worker's program in a window of its own, and messages are handed over as they would be.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      };
      const program = frame.contentDocument.createElement("script");
      program.src = new URL(address, document.baseURI).href;
      this.ready = new Promise((done) => (program.onload = done));
      frame.contentDocument.body.append(program);
    }
    postMessage(data) {
      this.ready.then(() => {
        const message = new this.inside.MessageEvent("message", { data });
        this.inside.dispatchEvent(message);
        this.inside.onmessage?.(message);
      });
    }
  };
}
