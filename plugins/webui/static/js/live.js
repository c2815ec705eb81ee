// The live stream. The browser reconnects by itself with Last-Event-ID; silence longer than two heartbeats is a dead line.
const SILENCE = 40_000;

export class Live {
  constructor({ thread, cursor, onOp, onLine, onSync, onLogout, onRefused }) {
    Object.assign(this, { thread, cursor, onOp, onLine, onSync, onLogout, onRefused });
    this.open();
  }

  open() {
    this.close();
    const query = new URLSearchParams({ thread: this.thread, after: this.cursor });
    this.source = new EventSource(`/api/v1/chat/events?${query}`);
    this.source.onopen = () => { this.onLine(true); this.heard(); };
    this.source.onerror = () => {
      this.onLine(false);
      // A refused request closes the source for good (daemon gone, logged out, thread deleted): try again at a calm pace,
      // or as whoever listens wants it.
      if (this.source.readyState === EventSource.CLOSED) this.again(3000);
    };
    for (const name of ["item", "text", "reason", "progress", "turn", "joined", "drop", "threads", "plugins", "notice", "title", "deleted", "memory", "working"]) {
      this.source.addEventListener(name, (event) => {
        this.heard();
        if (event.lastEventId) this.cursor = event.lastEventId;
        this.onOp(name, JSON.parse(event.data));
      });
    }
    this.source.addEventListener("beat", () => this.heard());
    this.source.addEventListener("sync_required", () => { this.close(); this.onSync(); });
    this.source.addEventListener("logged_out", () => { this.close(); this.onLogout(); });
    this.heard();
  }

  heard() {
    clearTimeout(this.watch);
    this.watch = setTimeout(() => { this.onLine(false); this.open(); }, SILENCE);
  }

  again(wait) {
    this.close();
    this.watch = setTimeout(() => (this.onRefused ?? (() => this.open()))(), wait);
  }

  close() {
    clearTimeout(this.watch);
    this.source?.close();
  }
}
