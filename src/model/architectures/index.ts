import type {Architecture} from '../architecture.js'

/** The architectures: one line each, its name in records and its file. */
const REGISTRY = {
  bert: () => import('./bert.js'),
  roberta: () => import('./roberta.js'),
  distilbert: () => import('./distilbert.js'),
  gpt2: () => import('./gpt2.js'),
  llama: () => import('./llama.js'),
  mistral: () => import('./mistral.js'),
  qwen2: () => import('./qwen2.js'),
  qwen3: () => import('./qwen3.js'),
} as const satisfies Record<string, () => Promise<{default: Architecture}>>

/** The name of an architecture. */
export type Kind = keyof typeof REGISTRY
const KINDS = Object.keys(REGISTRY) as readonly Kind[]

/** All of them with their names. */
export function architectures(): Promise<(Architecture & {kind: Kind})[]> {
  return Promise.all(KINDS.map(async kind => ({...(await REGISTRY[kind]()).default, kind})))
}
