/** The figures by id. One is a file, and a line here. */
import {unknownName} from '../../errors.js'
import type {Figure} from './figure.js'

const REGISTRY = {
  'performer-2': () => import('./performer-2.js'),
  'performer-3': () => import('./performer-3.js'),
  'performer-4': () => import('./performer-4.js'),
  'rfa-decode': () => import('./rfa-decode.js'),
  'lara-mse': () => import('./lara-mse.js'),
  'lara-cost': () => import('./lara-cost.js'),
} as const satisfies Record<string, () => Promise<{default: Figure}>>

export const FIGURE_IDS = Object.keys(REGISTRY) as readonly (keyof typeof REGISTRY)[]

/** @throws {UNKNOWN_NAME} for an id that is not in the registry */
export async function figureNamed(id: string): Promise<Figure> {
  const load = Object.hasOwn(REGISTRY, id) ? REGISTRY[id as keyof typeof REGISTRY] : undefined
  if (!load) throw unknownName('figures', 'figures', id, FIGURE_IDS)
  return (await load()).default
}
