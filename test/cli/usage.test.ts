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
  it.each([
    [
      'a mistyped flag',
      ['--causl'],
      'Nonexistent flag: --causl\nCode: USAGE   Try: did you mean --causal?\n                   see --help\n',
    ],
    [
      'a mistyped method',
      ['--methods', 'favor-po'],
      /^--methods: expected one of the methods .*, got "favor-po"\nCode: UNKNOWN_NAME {3}Try: did you mean favor-pos\?\n +rfa methods lists all\n$/,
    ],
    [
      'a range the wrong way round',
      ['--num-features', '8..4'],
      '--num-features: expected the upper end of a range to be at least the lower one, got "8..4"\nCode: BAD_RANGE   Try: write 4..8x2\n',
    ],
    [
      'a flag without its value',
      ['--seq-len'],
      'Flag --seq-len expects a value\nCode: USAGE   Try: see --help\n',
    ],
    [
      'a stray argument',
      ['favor-pos'],
      'Unexpected argument: favor-pos\nCode: USAGE   Try: did you mean --methods favor-pos?\n                   see --help\n',
    ],
    [
      'an option outside its range',
      ['--methods', 'rfa', '--option', 'tau=0'],
      /^rfa\.tau: expected .*\nCode: BAD_OPTION {3}Try: see rfa methods rfa\n$/,
    ],
    [
      'a negative seed',
      ['--seed', '-1'],
      '--seed: expected an integer of at least 0, got -1\nCode: BAD_RANGE\n',
    ],
  ])('is told in one sentence on stderr: %s', async (_, argv, stderr) => {
    const outcome = await errorSweep(...argv)
    expect(outcome).toMatchObject({stdout: '', exitCode: 2})
    if (typeof stderr === 'string') expect(outcome.stderr).toBe(stderr)
    else expect(outcome.stderr).toMatch(stderr)
  })

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
