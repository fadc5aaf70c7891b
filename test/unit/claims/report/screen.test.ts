import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../../src/claims/claim.js'
import {CLAIM_IDS, referenceVerdict, titleOf} from '../../../../src/claims/claims/index.js'
import type {ClaimOutcome} from '../../../../src/claims/outcome.js'
import {claimsScreen, shortened} from '../../../../src/claims/report/screen.js'
import {claimsDocument} from '../../../../src/cli/program/json-documents.js'
import {renderTerminal} from '../../../../src/report/terminal.js'

const {claims: REFERENCE} = claimsDocument.parse(
  JSON.parse(readFileSync('results/reference/claims/claims.json', 'utf8')),
)
const screen = (claims: readonly ClaimOutcome[]) =>
  renderTerminal(claimsScreen(claims), {width: 80, colour: false})
/** With other verdicts. */
const judged = (...verdicts: readonly ClaimVerdict[]) =>
  REFERENCE.map((claim, at) => ({...claim, verdict: verdicts[at % verdicts.length]!}))
const busy = REFERENCE.map((claim): ClaimOutcome => {
  if (claim.verdict === 'not_measurable' || claim.runs.length === 0) return claim
  const statement = 'not settled at 784, 1568; the machine was busy: run it again when it is quiet'
  return {...claim, verdict: 'inconclusive', inconclusive_because: 'busy', statement}
})

const RUNS: Record<string, readonly ClaimOutcome[]> = {
  'the reference run': REFERENCE,
  'claims that all hold': judged('holds'),
  'claims that are all refuted': judged('refuted'),
  'every other claim refuted': judged('refuted', 'holds'),
  'a busy machine': busy,
  'three claims': REFERENCE.slice(0, 3),
  'claims of another version': REFERENCE.slice(0, 2).map(claim => ({
    ...claim,
    id: `H9${claim.id}`,
  })),
}

describe('the first screen of claims', () => {
  it.each(Object.entries(RUNS))('has a line for each claim: %s', (_, claims) => {
    const text = screen(claims)
    const lines = text.split('\n')
    expect(lines.length).toBeLessThanOrEqual(38)
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80)
    for (const {id} of claims) expect(text).toMatch(new RegExp(`\\b${id}\\b`))
    expect(text).toMatchSnapshot()
  })

  it('names claims in few words', () => {
    for (const id of CLAIM_IDS) expect(titleOf(id)!.length, id).toBeLessThanOrEqual(36)
    expect(titleOf('H99')).toBeUndefined()
  })

  it('knows the verdicts of the reference run', () => {
    const kept = new Map(REFERENCE.map(({id, verdict}) => [id, verdict]))
    expect([...kept.keys()]).toEqual(CLAIM_IDS.filter(id => kept.has(id)))
    for (const id of CLAIM_IDS) expect(referenceVerdict(id), id).toBe(kept.get(id))
  })
})

describe('claims that are also measured in a whole decoder', () => {
  const parts = ['0.9x [0.8, 1.0]', '1.4x [1.3, 1.5]', '2.5x [2.4, 2.6]'].map((one, at) => {
    return `${one} at ${25 * 2 ** at}`
  })
  const statement = `judged by the speed-up of the attention alone: ${parts.join(', ')} tokens; for a whole decoder: ${parts.join(', ')}`
  const shown = (changes: Partial<ClaimOutcome>) =>
    screen([{...REFERENCE[0]!, statement, ...changes}]).replaceAll(/\s+/g, ' ')

  it('say what is judged, and both in few numbers with their intervals', () => {
    const ends = '0.9x [0.8, 1.0] at 25 to 2.5x [2.4, 2.6] at 100'
    expect(shown({})).toContain(
      `- H1 is judged by the speed-up of the attention alone: ${ends}; for a whole decoder: ${ends}`,
    )
    expect(shown({})).toContain('RFA translates twice as fast: 0.9x at 25 to 2.5x at 100')
  })

  it('take six lines more, where all claims hold', () => {
    const all = judged('holds').map(claim =>
      /^H[12]$/.test(claim.id) ? {...claim, statement} : claim,
    )
    const lines = screen(all).split('\n')
    expect(lines.length).toBeLessThanOrEqual(44)
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80)
  })

  it('say it once where they are refuted, and nothing where the machine was busy', () => {
    expect(shown({verdict: 'refuted'}).split('whole decoder')).toHaveLength(2)
    const busy = {verdict: 'inconclusive', inconclusive_because: 'busy'} as const
    expect(shown(busy)).not.toContain('whole decoder')
  })
})

describe('a shortened statement', () => {
  it.each([
    ['20.4x [19.2, 21.6] at 2048 tokens', '20.4x at 2048 tokens'],
    ['time of RA over softmax: 1.86x [1.8, 1.9] at 784', '1.86x at 784'],
    ['ratio: 1x at 5, 2x at 6, 3x at 7 tokens; more', '1x at 5 to 3x at 7'],
    ['it grows, as the theorem says it does', 'it grows, as the ...'],
  ])('has what fits: %s', (statement, short) => {
    expect(shortened(statement, 20)).toBe(short)
  })
})
