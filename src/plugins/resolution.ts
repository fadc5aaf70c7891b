/** Takes the hook of hooks.ts into use, and keeps what it tells of imports. */
import * as nodeModule from 'node:module'
import {dirname, join, relative, sep} from 'node:path'
import {fileURLToPath, pathToFileURL} from 'node:url'
import {MessageChannel, receiveMessageOnPort} from 'node:worker_threads'
import {packageRoot} from '../package.js'
import {type Doors, type Edge, resolver} from './hooks.js'

/** Node 22.15 and later have it. */
const {registerHooks} = nodeModule as {
  registerHooks?: (hooks: {resolve: ReturnType<typeof resolver>}) => void
}

/** What each module imports, by their URLs. */
const imports = new Map<string, Set<string>>()
let receive: (() => void) | undefined

/** From now on plug-ins find this program under `rfa`, wherever they stand. */
export function openDoors(): void {
  if (receive) return
  if (registerHooks) {
    registerHooks({resolve: resolver(doors(), keep)})
    receive = () => {}
    return
  }
  const {port1, port2} = new MessageChannel()
  nodeModule.register(pathToFileURL(join(builtFolder(), 'plugins', 'hooks.js')), {
    data: {doors: doors(), port: port2},
    transferList: [port2],
  })
  port1.unref()
  receive = () => {
    for (let told = receiveMessageOnPort(port1); told; told = receiveMessageOnPort(port1)) {
      keep(told.message)
    }
  }
}

function keep({from, to}: Edge): void {
  imports.set(from, (imports.get(from) ?? new Set()).add(to))
}

/**
 * Files that a module imports, itself or through others, as far as they have been imported: not those of packages.
 *
 * @param path - of the module, without symbolic links
 * @returns absolute paths, in the order in which they were found
 */
export function filesImported(path: string): string[] {
  receive?.()
  const first = pathToFileURL(path).href
  const found = new Set([first])
  for (const url of found)
    for (const next of imports.get(url) ?? []) if (isLocal(next)) found.add(next)
  found.delete(first)
  return [...found].map(url => fileURLToPath(url))
}

function isLocal(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/')
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
    own: url(built, 'index.js'),
  }
}
