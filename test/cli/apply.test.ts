import {beforeEach, describe, expect, it, vi} from 'vitest'
import Apply from '../../commands/apply.js'
import type {ApplyRecord} from '../../src/apply/record.js'
import {APPLIED_ARRAY} from '../helpers/records/apply.js'
import {madeBy} from '../helpers/records/made-by.js'
import {run, runner} from './services.js'

beforeEach(() => {
  vi.clearAllMocks()
})

const WROTE = 'wrote out [1, 3, 31, 13] (batch, heads, tokens, Dv) to b.npy'

describe('rfa apply', () => {
  const applied = (not_finite: number): ApplyRecord => ({
    ...{schema: 'rfa.apply/2', output: 'b.npy', layout: 'bhld', causal: false, method: 'rfa'},
    ...{preset: 'exact', plugin: null, tuned: null},
    ...madeBy({backend: 'cpu', threads: 1}),
    operations: {},
    arrays: [{...APPLIED_ARRAY, not_finite}],
  })

  it('runs the method on the arrays and says where the output is', async () => {
    runner.applyEstimator.mockResolvedValue(applied(0))
    const typed = '--method rfa --input a.npz --output b.npy --scale 0.25 --threads 2'
    const argv = typed.split(' ')
    const {stdout, stderr} = await run(Apply, 'apply', argv)
    expect(runner.applyEstimator.mock.lastCall?.[0]).toMatchObject({
      ...{method: 'rfa', output: 'b.npy', scale: 0.25, threads: 2, force: false},
      input: {paths: ['a.npz']},
    })
    expect(stdout).toBe('')
    expect(stderr).toBe(`${WROTE}\n`)
    const json = await run(Apply, 'apply', [...argv, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({schema: 'rfa.apply/2'})
  })

  it('warns of an output that is not finite, under --quiet too', async () => {
    runner.applyEstimator.mockResolvedValue(applied(1209))
    const argv = ['--method', 'softmax', '--input', 'a.npz', '--output', 'b.npy', '--quiet']
    expect(await run(Apply, 'apply', argv)).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(
        /^warning: 1209 of 1209 output elements of rfa are not finite: .*\n$/,
      ),
    })
  })

  it.each([
    [
      'elu',
      ['--num-features', '8'],
      'warning: --num-features changes nothing: elu as asked for does not use it\n',
    ],
    [
      'softmax',
      ['--projection', 'orth'],
      'warning: --projection changes nothing: softmax as asked for does not use it\n',
    ],
    [
      'eva',
      ['--num-features', '8', '--causal'],
      /^warning: --num-features changes nothing: eva as/,
    ],
    ['eva', ['--num-features', '8'], ''],
    ['rfa', ['--num-features', '8', '--projection', 'orth'], ''],
    ['elu', [], ''],
  ])('tells of settings that %s does not use: %j', async (method, typed, warning) => {
    runner.applyEstimator.mockImplementation(async ({causal}) => ({
      ...applied(0),
      causal: causal ?? false,
    }))
    const argv = ['-m', method, '-i', 'a.npz', '-o', 'b.npy', '--quiet', ...typed]
    const {stderr, exitCode} = await run(Apply, 'apply', argv)
    expect(exitCode).toBe(0)
    expect(stderr).toEqual(typeof warning === 'string' ? warning : expect.stringMatching(warning))
  })

  it('passes on what is to be said of the input, warnings under --quiet too', async () => {
    runner.applyEstimator.mockImplementation(async (request, listeners) => {
      expect(request.input).toMatchObject({layout: 'blhd'})
      listeners?.note?.('native: X; using cpu')
      listeners?.warn?.('a.npz: more heads; leave out `layout`')
      return applied(0)
    })
    const argv = ['-m', 'rfa', '-i', 'a.npz', '-o', 'b.npy', '--layout', 'blhd']
    expect((await run(Apply, 'apply', argv)).stderr).toBe(
      `native: X; using cpu\nwarning: a.npz: more heads; leave out --layout\n${WROTE}\n`,
    )
    expect((await run(Apply, 'apply', [...argv, '--quiet'])).stderr).toBe(
      'warning: a.npz: more heads; leave out --layout\n',
    )
  })

  it('refuses to start without method, input and output', async () => {
    const {stderr, exitCode} = await run(Apply, 'apply', [])
    expect(stderr).toMatch(/^Missing required --input, --method, --output\n/)
    expect(exitCode).toBe(2)
  })
})
