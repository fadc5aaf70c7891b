import {describe, expect, it} from 'vitest'
import {EFFORTS, type TestedClaim} from '../../../../src/claims/claim.js'
import {CLAIM_IDS, claimNamed, claimsNamed} from '../../../../src/claims/claims/index.js'
import {plansOf} from '../../../../src/cli/claims/run-claims.js'
import {experimentNamed} from '../../../../src/experiments/index.js'

const claims = await claimsNamed([])
const tested = claims.filter((claim): claim is TestedClaim => claim.kind === 'tested')
const number = (id: string) => Number(id.slice(1))

describe('claims', () => {
  it('have the ids of their lines, in order', () => {
    expect(claims.map(({id}) => id)).toEqual(CLAIM_IDS)
    expect([...CLAIM_IDS].sort((a, b) => number(a) - number(b))).toEqual(CLAIM_IDS)
  })

  it('say everything in sentences, without a full stop at the end', () => {
    for (const {kind: _kind, id, ...texts} of claims) {
      for (const text of Object.values(texts)) {
        if (typeof text === 'string') expect(text, id).toMatch(/^[\w"(].*[^.\s]$/s)
      }
    }
  })

  it.each(EFFORTS)('have plans of the experiments, each run one plan: %s', async effort => {
    const {plans} = await plansOf(claims, {effort, seed: 3})
    for (const plan of plans.values()) {
      const {plan: schema} = await experimentNamed(plan.experiment)
      expect(schema.parse(plan)).toEqual(plan)
      expect(plan.seed).toBe(3)
    }
  })

  it('draw more, or run longer, in full', async () => {
    const size = async (effort: 'quick' | 'full') =>
      JSON.stringify([...(await plansOf(tested, {effort, seed: 0})).plans])
    expect(await size('full')).not.toBe(await size('quick'))
  })

  it('are refused by unknown names, with the nearest one', async () => {
    await expect(claimNamed('h6')).rejects.toMatchObject({
      code: 'UNKNOWN_NAME',
      suggestions: expect.arrayContaining(['did you mean H6?']),
    })
  })

  it('are each taken once, in the order asked for', async () => {
    const asked = await claimsNamed(['H13', 'H6', 'H13'])
    expect(asked.map(({id}) => id)).toEqual(['H13', 'H6'])
  })
})
