import {beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import ErrorSweep from '../../commands/error-sweep.js'
import {run, runner} from './services.js'

const errorSweep = (...argv: string[]) => run(ErrorSweep, 'error-sweep', argv)
const bench = (...argv: string[]) => run(Bench, 'bench', argv)

beforeEach(() => {
  vi.clearAllMocks()
})

describe('wrong usage', () => {
  it('is a small JSON document on stdout under --json, with the same exit code', async () => {
    const {stdout, stderr, exitCode} = await errorSweep('--json', '--causl')
    expect(JSON.parse(stdout)).toEqual({
      schema: 'rfa.error/1',
      error: {
        code: 'USAGE',
        message: 'Nonexistent flag: --causl',
        exit: 2,
        suggestions: ['did you mean --causal?', 'see --help'],
      },
    })
    expect(stderr).toBe('')
    expect(exitCode).toBe(2)
  })

  it('is not what a fault of rfa itself is called', async () => {
    runner.runExperiment.mockRejectedValue(new TypeError('x is undefined'))
    expect(await bench('--quick')).toMatchObject({
      exitCode: 70,
      stderr: expect.stringMatching(/^x is undefined\nCode: INTERNAL /),
    })
  })
})
