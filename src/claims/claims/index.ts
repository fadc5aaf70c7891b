/** The claims by id. One is a file, and a line here; one that is only quoted stands in `quoted.ts`. */
import {unknownName} from '../../errors.js'
import type {Claim, ClaimVerdict} from '../claim.js'
import {quoted} from './quoted.js'

/** Its verdict in the reference run, where that has it, what it is about in a few words, and its file. */
type Entry = readonly [
  reference: ClaimVerdict | undefined,
  title: string,
  load: () => Promise<{default: Claim}>,
]

const REGISTRY = {
  H1: ['depends', 'RFA translates twice as fast', () => import('./h01.js')],
  H2: ['holds', 'RFA decodes 12 times as fast', () => import('./h02.js')],
  H3: ['holds', 'RFA needs a tenth of the memory', () => import('./h03.js')],
  H4: ['holds', 'gain grows with L', () => import('./h04.js')],
  H5: ['holds', 'time grows linearly', () => import('./h05.js')],
  H6: ['holds', 'sin/cos variance falls like 1/M', () => import('./h06.js')],
  H7: ['holds', 'sin/cos needs unit norms', () => import('./h07.js')],
  H8: ['depends', 'gates prefer recent tokens', () => import('./h08.js')],
  H9: ['not_measurable', 'RFA keeps the perplexity', () => import('./h09.js')],
  H10: ['depends', 'positive wins at small kernels', () => import('./h10.js')],
  H11: ['depends', 'orthogonal rows help', () => import('./h11.js')],
  H12: ['depends', 'positive beats sin/cos', () => import('./h12.js')],
  H13: ['holds', 'hyperbolic varies less', () => import('./h13.js')],
  H14: ['depends', 'SMREG is a close lower bound', () => import('./h14.js')],
  H15: ['holds', 'Performer costs little', () => import('./h15.js')],
  H16: ['depends', 'M = D ln D is enough', () => import('./h16.js')],
  H17: ['not_measurable', 'features are redrawn in training', () => import('./h17.js')],
  H18: ['holds', 'errors grow through layers', () => import('./h18.js')],
  H19: ['holds', 'RFA is biased, RA is not', () => import('./h19.js')],
  H20: ['depends', 'RA beats LARA beats RFA', () => import('./h20.js')],
  H21: ['holds', 'RA takes twice the time', () => import('./h21.js')],
  H22: ['inconclusive', 'LARA costs little more than RFA', () => import('./h22.js')],
  H23: ['not_measurable', 'RA and LARA keep the quality', async () => ({default: quoted('H23')})],
  H24: ['holds', 'OPRF varies e^60 less', () => import('./h24.js')],
  H25: ['depends', 'SDERF varies e^10 less', () => import('./h25.js')],
  H26: ['depends', 'simplex rows vary least', () => import('./h26.js')],
  H27: ['depends', 'elu generates >100x as fast', () => import('./h27.js')],
  H28: ['not_measurable', 'Performer twice as fast as Reformer', () => import('./h28.js')],
  H29: [undefined, 'a little learning restores a model', () => import('./h29.js')],
  H30: ['inconclusive', 'rel L2 orders methods by damage', () => import('./h30.js')],
  H31: ['depends', 'noise adds up, bias compounds', () => import('./h31.js')],
  H32: [undefined, 'Performer fails on ListOps', () => import('./h32.js')],
  H33: [undefined, 'the Taylor map recalls best', () => import('./h33.js')],
  H34: [undefined, 'learned features carry over', () => import('./h34.js')],
} as const satisfies Record<string, Entry>

export const CLAIM_IDS = Object.keys(REGISTRY) as readonly (keyof typeof REGISTRY)[]

/** @throws {UNKNOWN_NAME} for an id that is not in the registry */
export async function claimNamed(id: string): Promise<Claim> {
  const entry = entryOf(id)
  if (!entry) throw unknownName('claims', 'claims', id, CLAIM_IDS)
  return (await entry[2]()).default
}

function entryOf(id: string): Entry | undefined {
  return Object.hasOwn(REGISTRY, id) ? REGISTRY[id as keyof typeof REGISTRY] : undefined
}

/** What a claim is about, in a few words; `undefined` for one of another version. */
export function titleOf(id: string): string | undefined {
  return entryOf(id)?.[1]
}

/** Its verdict in the full run that is kept with the source; `undefined` for a claim that is not in it. */
export function referenceVerdict(id: string): ClaimVerdict | undefined {
  return entryOf(id)?.[0]
}

/** Those of the ids, each once, or all. */
export function claimsNamed(ids: readonly string[]): Promise<Claim[]> {
  return Promise.all(
    [...new Set(ids.length > 0 ? ids.map(id => id.toUpperCase()) : CLAIM_IDS)].map(claimNamed),
  )
}
