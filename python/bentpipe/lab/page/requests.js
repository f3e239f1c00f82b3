// Requests for pictures. At most one is under way, and of those that come meanwhile only the newest
// is sent. A request that takes longer than PATIENCE_MS gives way to a newer one.

const PATIENCE_MS = 1000;

export const page = crypto.randomUUID();

export async function post(path, content) {
  return fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
}

// Counts for tests and for those who want to know.
export const counts = { requests: 0, bytes: 0, pictures: 0 };

export class Requests {
  constructor(state, take) {
    this.state = state; // returns the state to show
    this.take = take; // gets the answers, one object each
    this.current = null;
    this.waiting = false;
  }

  ask(more = {}) {
    this.more = more;
    if (!this.current) return void this.send();
    this.waiting = true;
    const { abort, began } = this.current;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => abort.abort(), Math.max(0, began + PATIENCE_MS - performance.now()));
  }

  async send() {
    const current = { abort: new AbortController(), began: performance.now() };
    this.current = current;
    this.waiting = false;
    clearTimeout(this.timer);
    counts.requests += 1;
    try {
      await this.read(current);
    } catch (error) {
      if (error.name !== "AbortError") this.take({ kind: "lost", message: String(error.message) });
    }
    this.current = null;
    if (this.waiting) this.send();
    else this.take({ kind: "idle" });
  }

  async read({ abort }) {
    this.take({ kind: "begin" });
    const answer = await fetch("run", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ page, state: this.state(), ...this.more }),
      signal: abort.signal,
    });
    if (!answer.ok) throw new Error(await answer.text());
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      counts.bytes += value.length;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) this.take(JSON.parse(line));
    }
  }
}
