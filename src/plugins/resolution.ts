/** Registers the hooks of hooks.ts, and keeps what they report of imports. */
import * as nodeModule from 'node:module'
import {dirname, join, relative, sep} from 'node:path'
import {fileURLToPath, pathToFileURL} from 'node:url'
import {MessageChannel, receiveMessageOnPort} from 'node:worker_threads'
import {packageRoot} from '../package.js'
import {type Doors, type Entry, type HookMessage, Hooks, isOfPlugin} from './hooks.js'

/** Node 22.15 and later have it. */
const {registerHooks} = nodeModule as {
  registerHooks?: (hooks: Pick<Hooks, 'resolve' | 'load'>) => void
}

/** What each module imports, by their URLs. */
const imports = new Map<string, Set<string>>()
/** What files of plug-ins held as they were loaded, by their paths. */
const loaded = new Map<string, string>()
let refused: string | undefined
/** How to speak with the hooks. */
interface Line {
  begin(entry: Entry | undefined): void
  receive(): void
}
let line: Line | undefined

/** From now on plug-ins find this program under `rfa`, wherever they stand. */
export function openDoors(): void {
  line ??= registerHooks ? sameThread(registerHooks) : loaderThread()
}

function sameThread(register: NonNullable<typeof registerHooks>): Line {
  const hooks = new Hooks(doors(), keep)
  register({resolve: (...call) => hooks.resolve(...call), load: (...call) => hooks.load(...call)})
  return {begin: entry => hooks.begin(entry), receive: () => {}}
}

function loaderThread(): Line {
  const {port1, port2} = new MessageChannel()
  nodeModule.register(pathToFileURL(join(builtFolder(), 'plugins', 'hooks.js')), {
    data: {doors: doors(), port: port2},
    transferList: [port2],
  })
  port1.unref()
  return {
    begin: entry => port1.postMessage({entry}),
    receive() {
      for (let next = receiveMessageOnPort(port1); next; next = receiveMessageOnPort(port1)) {
        keep(next.message)
      }
    },
  }
}

function keep(message: HookMessage): void {
  if ('refused' in message) refused = message.refused
  else if ('file' in message) loaded.set(message.file, message.sha256)
  else imports.set(message.from, (imports.get(message.from) ?? new Set()).add(message.to))
}

/** The plug-in that is imported next; `undefined`: it has been. */
export function beginPlugin(entry: Entry | undefined): void {
  refused = undefined
  line?.begin(entry)
}

/** The file that made the import of a plug-in with pins fail, if one did. */
export function refusedFile(): string | undefined {
  line?.receive()
  return refused
}

/** SHA-256 of a file of a plug-in as it was loaded. */
export function sha256Loaded(path: string): string | undefined {
  line?.receive()
  return loaded.get(path)
}

/**
 * Files that a module imports, itself or through others, as far as they have been imported: not those of other packages.
 *
 * @param path - of the module, without symbolic links
 * @returns absolute paths, in the order in which they were found
 */
export function filesImported(path: string): string[] {
  line?.receive()
  const plugin = pathToFileURL(path).href
  const isLocal = (url: string) => isOfPlugin(url, plugin)
  const urls = new Set([plugin])
  for (const url of urls)
    for (const next of imports.get(url) ?? [])
      if (isLocal(next) || next.startsWith('data:')) urls.add(next)
  // one file may be imported under several URLs
  const files = new Set([...urls].filter(isLocal).map(url => fileURLToPath(url)))
  const {cache} = nodeModule.createRequire(import.meta.url)
  for (const file of files)
    for (const {filename} of cache[file]?.children ?? [])
      if (isLocal(pathToFileURL(filename).href)) files.add(filename)
  files.delete(path)
  return [...files]
}

/** The compiled modules that this file is one of: those of the program, or of the library. */
function builtFolder(): string {
  const root = packageRoot()
  const inside = relative(join(root, 'dist', 'program'), dirname(fileURLToPath(import.meta.url)))
  const program = !inside.startsWith('..') && !inside.startsWith(sep)
  return join(root, 'dist', ...(program ? ['program'] : []), 'src')
}

function doors(): Doors {
  const built = builtFolder()
  const url = (...path: string[]) => pathToFileURL(join(...path)).href
  return {
    modules: {
      rfa: url(built, 'index.js'),
      'rfa/attention': url(built, 'attention', 'index.js'),
      'rfa/gradients': url(packageRoot(), 'dist', 'gradients.js'),
    },
    parent: url(built, 'index.js'),
  }
}
