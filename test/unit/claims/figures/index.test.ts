import {readdirSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {EFFORTS} from '../../../../src/claims/claim.js'
import {FIGURE_IDS, figureNamed} from '../../../../src/claims/figures/index.js'
import {experimentNamed} from '../../../../src/experiments/index.js'

const figures = await Promise.all(FIGURE_IDS.map(figureNamed))

describe('figures', () => {
  it('have the ids of their lines, and are the files of the folder', () => {
    expect(figures.map(({id}) => id)).toEqual(FIGURE_IDS)
    const others = ['figure.ts', 'index.ts', 'report.ts']
    const files = readdirSync(new URL('../../../../src/claims/figures', import.meta.url))
    expect(files.filter(name => !others.includes(name)).sort()).toEqual(
      FIGURE_IDS.map(id => `${id}.ts`).sort(),
    )
  })

  it('say everything in sentences, without a full stop at the end', () => {
    for (const {id, plans: _plans, draw: _draw, ...texts} of figures) {
      for (const text of Object.values(texts)) expect(text, id).toMatch(/^\w.*[^.\s]$/s)
    }
  })

  it.each(EFFORTS)('have plans of the experiments, with the seed: %s', async effort => {
    for (const {plans} of figures) {
      for (const plan of Object.values(plans({effort, seed: 3}))) {
        const {plan: schema} = await experimentNamed(plan.experiment)
        expect(schema.parse(plan)).toEqual(plan)
        expect(plan.seed).toBe(3)
      }
    }
  })

  it('take more draws, points or lengths in full', () => {
    for (const {id, plans} of figures) {
      const [quick, full] = EFFORTS.map(effort => JSON.stringify(plans({effort, seed: 0})))
      expect(full, id).not.toBe(quick)
    }
  })

  it('are refused by unknown names, with the nearest one', async () => {
    await expect(figureNamed('lara-cots')).rejects.toMatchObject({
      code: 'UNKNOWN_NAME',
      suggestions: ['did you mean lara-cost?'],
    })
  })
})
