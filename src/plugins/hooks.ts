/**
 * How imports of plug-ins are resolved: `rfa` means the program that runs, wherever the plug-in stands, so that both have
 * the same modules. Where Node has no hooks in the same thread, this file is loaded into the thread of its loader.
 */
import {createRequire, type ResolveHookContext} from 'node:module'
import type {MessagePort} from 'node:worker_threads'

/** What is found where. */
export interface Doors {
  /** URLs of the modules of this program, by the names under which they are imported. */
  modules: Readonly<Record<string, string>>
  /** URL of a module of this program: packages that a plug-in does not find are those that this one finds. */
  own: string
}

/** One import of a module by another. */
export interface Edge {
  from: string
  to: string
}

interface Resolved {
  url: string
  format?: string | null | undefined
  shortCircuit?: boolean | undefined
}
type Next = (specifier: string, context?: Partial<ResolveHookContext>) => Resolved

/** Packages whose types are part of what an estimator is made of. */
const SHARED = /^(zod|@tensorflow\/tfjs-core)(\/|$)/

/**
 * A hook for Node's resolution of modules.
 *
 * @param tell - told of every import that is resolved
 */
export function resolver({modules, own}: Doors, tell: (edge: Edge) => void) {
  return (specifier: string, context: ResolveHookContext, next: Next): Resolved => {
    const door = Object.hasOwn(modules, specifier) ? modules[specifier] : undefined
    if (door !== undefined) return {url: door, format: 'module', shortCircuit: true}
    const {parentURL = ''} = context
    const lacking = SHARED.test(specifier) && !finds(parentURL, specifier)
    const found = next(specifier, lacking ? {...context, parentURL: own} : context)
    const told = (resolved: Resolved) => {
      tell({from: parentURL, to: resolved.url})
      return resolved
    }
    // in the thread of the loader the next hook answers later
    return found instanceof Promise ? (found.then(told) as unknown as Resolved) : told(found)
  }
}

function finds(parentURL: string, specifier: string): boolean {
  try {
    createRequire(parentURL).resolve(specifier)
    return true
  } catch {
    return false
  }
}

let hook: ReturnType<typeof resolver> | undefined

/** Called by Node when it has loaded this file into the thread of its loader. */
export function initialize({doors, port}: {doors: Doors; port: MessagePort}): void {
  hook = resolver(doors, edge => port.postMessage(edge))
}

/** Called by Node for every import in that thread. */
export function resolve(specifier: string, context: ResolveHookContext, next: Next): Resolved {
  return hook ? hook(specifier, context, next) : next(specifier, context)
}
