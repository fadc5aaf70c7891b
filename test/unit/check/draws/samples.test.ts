import {describe, expect, it} from 'vitest'
import {type Sample, verdict} from '../../../../src/check/draws/samples.js'
import {normals, randomStream} from '../../../../src/random/index.js'

const QUESTION = {what: 'the mean', advice: 'the draw'}

/** Normal estimates of 1. */
function sample(draws: number, {bias = 0, spread = 0.2, name = 'a'} = {}): Sample {
  const values = Float64Array.from(
    normals(randomStream(5, name), draws),
    x => 1 + bias + spread * x,
  )
  return {label: name, values, truth: 1, scale: 1, slack: 1e-6}
}

describe('a verdict on means', () => {
  it('passes what is unbiased, and says which bias it would find', () => {
    const found = verdict([sample(4000), sample(4000, {name: 'b'})], QUESTION)
    // (z + 3.09) * 0.2 / sqrt(4000), z = 4.16 for two comparisons at 1e-4 / cosh(1)
    expect(found).toMatchObject({status: 'passed', finding: 'finds a bias of 2.3%'})
    expect(found.measured!).toBeLessThan(found.bound!)
  })

  it('fails a bias beyond that', () => {
    const found = verdict([sample(4000, {bias: 0.03})], QUESTION)
    expect(found).toMatchObject({status: 'failed', advice: 'the draw'})
    expect(found.finding).toMatch(
      /^a: the mean is 1\.0[23]\d*, expected 1.000 \(.* standard errors/,
    )
  })

  it('gives none on too few draws, and says how many it takes', () => {
    const {status, finding} = verdict([sample(100, {spread: 1})], QUESTION)
    expect(status).toBe('not measurable')
    expect(finding).toMatch(/^a needs about \d+ draws, got 100 \(--max-time, --draws\)$/)
    const needs = Number(/needs about (\d+)/.exec(finding!)![1])
    // z^2 / 0.1^2 times the variance of a sample of 100
    expect(needs).toBeGreaterThan(1000)
    expect(needs).toBeLessThan(2500)
  })

  it('gives none where one of several comparisons is open, and a failure all the same', () => {
    const open = sample(100, {spread: 1, name: 'open'})
    const found = verdict([sample(4000), open], QUESTION)
    expect(found).toMatchObject({
      status: 'not measurable',
      finding: expect.stringMatching(/^1 of 2 open: open needs about \d+ draws, got 100 /),
    })
    const biased = verdict([sample(4000, {bias: 0.03}), open], QUESTION)
    expect(biased).toMatchObject({status: 'failed', finding: expect.stringMatching(/^a: /)})
  })

  it('gives none on tails that are too heavy', () => {
    const values = Float64Array.from(sample(400).values, (x, at) => (at === 7 ? 10 : x))
    const heavy = {...sample(400), values}
    expect(verdict([heavy], QUESTION).status).toBe('not measurable')
  })

  it('judges what does not vary by rounding alone', () => {
    const values = new Float64Array(50).fill(1 + 5e-7)
    const still = {...sample(50), values}
    expect(verdict([still], QUESTION).status).toBe('passed')
    const off = {...still, values: values.map(x => x + 1e-5)}
    expect(verdict([off], QUESTION).status).toBe('failed')
  })

  it('asks for more draws of skewed estimates than of straight ones', () => {
    const skewed = (draws: number) => {
      const values = normals(randomStream(7, 'skewed'), draws)
      return verdict(
        [
          {
            label: 'squares',
            values: Float64Array.from(values, x => x * x),
            truth: 1,
            scale: 1,
            slack: 0,
          },
        ],
        QUESTION,
      )
    }
    const {status, finding} = skewed(4000)
    expect(status).toBe('not measurable')
    // z = 4.0: squared skewness 8 times ((2 z^2 + 1) (z + 1 / z) / 6)^2, as far as 4000 draws tell it
    const needs = Number(/needs about (\d+)/.exec(finding!)![1])
    expect(needs).toBeGreaterThan(4000)
    expect(needs).toBeLessThan(8000)
    expect(skewed(12_000).status).toBe('passed')
  })

  it('judges by the slack alone where the truth has no size', () => {
    const none = (value: number): Sample => ({
      ...{
        label: 'variance',
        values: new Float64Array(50).fill(value),
        truth: 0,
        scale: 0,
        slack: 1e-6,
      },
    })
    const passed = verdict([none(5e-7)], QUESTION)
    expect(passed).toMatchObject({status: 'passed', finding: 'to rounding', bound: 1e-6})
    expect(verdict([none(2e-6)], QUESTION).status).toBe('failed')
    expect(verdict([none(Number.NaN)], QUESTION)).toMatchObject({
      status: 'not measurable',
      finding: expect.stringContaining('not finite'),
    })
  })

  it('raises false alarms no more often than it should: 1 in 10000', () => {
    const alarms = Array.from({length: 2000}, (_, run) =>
      verdict([sample(200, {name: `run${run}`})], QUESTION),
    ).filter(({status}) => status === 'failed')
    // with a probability of 0.2 there is one by chance, with 1e-3 there are three
    expect(alarms.length).toBeLessThan(3)
  })
})
