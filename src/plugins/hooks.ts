/**
 * How imports of plug-ins are resolved: `rfa` means the program that runs, wherever the plug-in stands, so that both have
 * the same modules. Where Node has no hooks in the same thread, this file is loaded into the thread of its loader.
 */
import {createHash} from 'node:crypto'
import {readFileSync} from 'node:fs'
import {createRequire, type LoadHookContext, type ResolveHookContext} from 'node:module'
import {fileURLToPath} from 'node:url'
import {type MessagePort, receiveMessageOnPort} from 'node:worker_threads'

/** What is found where. */
export interface Doors {
  /** URLs of the modules of this program, by the names under which they are imported. */
  modules: Readonly<Record<string, string>>
  /** URL of a module of this program: packages that a plug-in does not find are those that this one finds. */
  parent: string
}

/** One import of a module by another. */
export interface Edge {
  from: string
  to: string
}

/** A plug-in that is imported next. */
export interface Entry {
  /** URL of its module, without symbolic links. */
  url: string
  /** SHA-256 of all its files by their paths, where they are known: no other file, and no other content, is imported. */
  pins?: Readonly<Record<string, string>> | undefined
}

/**
 * Messages of the hooks: an import, the content of a file of a plug-in when it was loaded, or a file that was refused.
 */
export type HookMessage = Edge | {file: string; sha256: string} | {refused: string}

interface Resolved {
  url: string
  format?: string | null | undefined
  shortCircuit?: boolean | undefined
}
type Next = (specifier: string, context?: Partial<ResolveHookContext>) => Resolved
interface Loaded {
  format: string | null | undefined
  source?: string | ArrayBufferLike | NodeJS.TypedArray | null | undefined
}
type NextLoad = (url: string, context?: Partial<LoadHookContext>) => Loaded

/** Packages with types that estimators are made of. */
const SHARED = /^(zod|@tensorflow\/tfjs-core)(\/|$)/

/** What Node calls for every module, and what the program says to it. */
export class Hooks {
  readonly #doors: Doors
  readonly #report: (message: HookMessage) => void
  #entry: Entry | undefined
  /** URLs of the modules of plug-ins. */
  readonly #own = new Set<string>()

  /** @param report - called for every import that is resolved, and for every file of a plug-in that is loaded */
  constructor(doors: Doors, report: (message: HookMessage) => void) {
    this.#doors = doors
    this.#report = report
  }

  /** What follows belongs to this plug-in, until there is another one or none. */
  begin(entry: Entry | undefined): void {
    this.#entry = entry
  }

  /** Node's resolution of modules. */
  resolve(specifier: string, context: ResolveHookContext, next: Next): Resolved {
    const {modules, parent} = this.#doors
    const door = Object.hasOwn(modules, specifier) ? modules[specifier] : undefined
    if (door !== undefined) return {url: door, format: 'module', shortCircuit: true}
    const {parentURL = ''} = context
    const lacking = SHARED.test(specifier) && !finds(parentURL, specifier)
    const resolution = next(specifier, lacking ? {...context, parentURL: parent} : context)
    const reported = (resolved: Resolved) => {
      const {url} = resolved
      this.#report({from: parentURL, to: url})
      if (specifier === this.#entry?.url || this.#own.has(parentURL)) this.#take(url)
      return resolved
    }
    // in the thread of the loader the next hook answers later
    return resolution instanceof Promise
      ? (resolution.then(reported) as unknown as Resolved)
      : reported(resolution)
  }

  /** Node's reading of modules: what is compiled is what is hashed. */
  load(url: string, context: LoadHookContext, next: NextLoad): Loaded {
    const result = next(url, context)
    if (!this.#own.has(url) || !url.startsWith('file:')) return result
    const hashed = (loaded: Loaded) => {
      const file = fileURLToPath(url)
      const {source} = loaded
      // a CommonJS file is read by Node once more
      const bytes = source instanceof Uint8Array ? source : readFileSync(file)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      this.#report({file, sha256})
      const {pins} = this.#entry ?? {}
      if (pins && pins[file] !== sha256) this.#refuse(file)
      return loaded
    }
    return result instanceof Promise ? (result.then(hashed) as unknown as Loaded) : hashed(result)
  }

  /** A module of a plug-in; those of other packages are not looked at. */
  #take(url: string): void {
    const {pins, url: plugin = ''} = this.#entry ?? {}
    if (url.startsWith('node:')) return
    if (!url.startsWith('data:') && packageOf(url) !== packageOf(plugin)) return
    this.#own.add(url)
    if (!pins || !url.startsWith('file:')) return
    const file = fileURLToPath(url)
    if (!Object.hasOwn(pins, file)) this.#refuse(file)
  }

  #refuse(file: string): never {
    this.#report({refused: file})
    throw new Error(`${file} is not what was recorded`)
  }
}

/** The folder of the package that a module is of; nothing outside of packages. */
function packageOf(url: string): string {
  return /^.*\/node_modules\/(@[^/]+\/)?[^/]+\//.exec(url)?.[0] ?? ''
}

/** Whether a module is a file of a plug-in: in the same package, or in none if the plug-in is outside of packages. */
export function isOfPlugin(url: string, plugin: string): boolean {
  return url.startsWith('file:') && packageOf(url) === packageOf(plugin)
}

function finds(parentURL: string, specifier: string): boolean {
  try {
    createRequire(parentURL).resolve(specifier)
    return true
  } catch {
    return false
  }
}

let hooks: Hooks | undefined
/** Takes what the program has said since. */
let receive = () => {}

/** Called by Node when it has loaded this file into the thread of its loader. */
export function initialize({doors, port}: {doors: Doors; port: MessagePort}): void {
  const started = new Hooks(doors, message => port.postMessage(message))
  hooks = started
  receive = () => {
    for (let said = receiveMessageOnPort(port); said; said = receiveMessageOnPort(port)) {
      started.begin(said.message.entry)
    }
  }
}

/** Called by Node for every import in that thread. */
export function resolve(specifier: string, context: ResolveHookContext, next: Next): Resolved {
  receive()
  return hooks ? hooks.resolve(specifier, context, next) : next(specifier, context)
}

/** Called by Node for every module that it reads in that thread. */
export function load(url: string, context: LoadHookContext, next: NextLoad): Loaded {
  return hooks ? hooks.load(url, context, next) : next(url, context)
}
