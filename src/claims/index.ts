/** The claims by id. One is a file, and a line here; one that is only quoted stands in `quoted.ts`. */
import {unknownName} from '../errors.js'
import type {Claim} from './claim.js'
import {quoted} from './quoted.js'

const REGISTRY = {
  H1: () => import('./h01.js'),
  H2: () => import('./h02.js'),
  H3: () => import('./h03.js'),
  H4: () => import('./h04.js'),
  H5: () => import('./h05.js'),
  H6: () => import('./h06.js'),
  H7: () => import('./h07.js'),
  H8: () => import('./h08.js'),
  H9: async () => ({default: quoted('H9')}),
  H10: () => import('./h10.js'),
  H11: () => import('./h11.js'),
  H12: () => import('./h12.js'),
  H13: () => import('./h13.js'),
  H14: () => import('./h14.js'),
  H15: () => import('./h15.js'),
  H16: () => import('./h16.js'),
  H17: async () => ({default: quoted('H17')}),
  H18: async () => ({default: quoted('H18')}),
  H19: () => import('./h19.js'),
  H20: () => import('./h20.js'),
  H21: () => import('./h21.js'),
  H22: () => import('./h22.js'),
  H23: async () => ({default: quoted('H23')}),
  H24: () => import('./h24.js'),
  H25: () => import('./h25.js'),
  H26: () => import('./h26.js'),
  H27: () => import('./h27.js'),
  H28: () => import('./h28.js'),
} as const satisfies Record<string, () => Promise<{default: Claim}>>

export const CLAIM_IDS = Object.keys(REGISTRY) as readonly (keyof typeof REGISTRY)[]

/** @throws {UNKNOWN_NAME} for an id that is not in the registry */
export async function claimNamed(id: string): Promise<Claim> {
  const load = Object.hasOwn(REGISTRY, id) ? REGISTRY[id as keyof typeof REGISTRY] : undefined
  if (!load) throw unknownName('claims', 'claims', id, CLAIM_IDS)
  return (await load()).default
}

/** Those of the ids, each once, or all. */
export function claimsNamed(ids: readonly string[]): Promise<Claim[]> {
  return Promise.all([...new Set(ids.length > 0 ? ids : CLAIM_IDS)].map(claimNamed))
}
