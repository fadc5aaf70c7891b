/** Processes that several timed cells share. */
import type {WorkerProcess} from './worker-process.js'

/** A worker for a cell, until the cell releases it. */
export interface TakenWorker {
  worker: WorkerProcess
  release(): Promise<void>
}

/** How workers begin and end. */
interface Lives {
  start(): Promise<WorkerProcess>
  retire(worker: WorkerProcess): Promise<void>
}

interface Shared {
  round: number
  starting: Promise<WorkerProcess>
  /** The same once it is there. */
  worker?: WorkerProcess
  users: number
}

/** One worker for all cells of a kind in a round. */
export class SharedWorkers {
  readonly #lives: Lives
  readonly #shared = new Map<string, Shared>()

  constructor(lives: Lives) {
    this.#lives = lives
  }

  /** The worker of a kind in a round, a new one where there is none or it has died. Those of earlier rounds end when idle. */
  async take(kind: string, round: number): Promise<TakenWorker> {
    const key = `${round} ${kind}`
    const known = this.#shared.get(key)
    const shared: Shared =
      known && known.worker?.alive !== false
        ? known
        : {round, starting: this.#lives.start(), users: 0}
    this.#shared.set(key, shared)
    shared.users++
    const worker = await shared.starting
    shared.worker = worker
    await this.#retireIdle(round)
    const release = async () => {
      shared.users--
      if (!worker.alive) await this.#lives.retire(worker)
    }
    return {worker, release}
  }

  /** Ends all. */
  async retireAll(): Promise<void> {
    const all = [...this.#shared.values()]
    await Promise.all(all.map(async ({starting}) => this.#lives.retire(await starting)))
  }

  /** Ends those of rounds before this one that no cell has any more. */
  async #retireIdle(now: number): Promise<void> {
    for (const [key, {round, starting, users}] of this.#shared) {
      if (round >= now || users > 0) continue
      this.#shared.delete(key)
      await this.#lives.retire(await starting)
    }
  }
}
