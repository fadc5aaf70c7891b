import {CLIError} from '@oclif/core/errors'
import {describe, expect, it} from 'vitest'
import {asFlags, errorReport, formatErrorReport} from '../../../../src/cli/program/error-report.js'
import {RfaError} from '../../../../src/errors.js'

describe('asFlags', () => {
  it('shows settings as the flags of the command, and leaves everything else', () => {
    const flags = ['seq-len', 'preset', 'input']
    expect(asFlags('`seqLen`: expected 1 to 5; lower `heads`', flags)).toBe(
      '--seq-len: expected 1 to 5; lower `heads`',
    )
    expect(asFlags('use `preset: exact` or `input: q.npy,k.npy`', flags)).toBe(
      'use --preset exact or --input q.npy,k.npy',
    )
    expect(asFlags('a `b c` of `/input`', flags)).toBe('a `b c` of `/input`')
  })
})

describe('errorReport', () => {
  it('tells sentence and remedies in the words of flags', () => {
    const error = new RfaError('BAD_OPTION', '`seqLen`: expected 1', {suggestions: ['`seqLen: 1`']})
    expect(errorReport(error, {argv: [], flags: {'seq-len': {}}})).toMatchObject({
      message: '--seq-len: expected 1',
      suggestions: ['--seq-len 1'],
    })
  })

  it('carries sentence, code, exit code and remedies of an RfaError', () => {
    const error = new RfaError('FILE_MISSING', 'input: no such file', {suggestions: ['look again']})
    expect(errorReport(error)).toEqual({
      code: 'FILE_MISSING',
      message: 'input: no such file',
      exit: 3,
      suggestions: ['look again'],
    })
  })

  it('names a limit of open files as one, wherever it was met', () => {
    for (const code of ['EMFILE', 'ENFILE']) {
      const message = `${code}: too many open files, open 'x'`
      for (const error of [
        Object.assign(new Error('x'), {code}),
        new Error(message),
        new RfaError('BAD_FILE', `x.npz: expected a readable file, got ${message}`),
      ]) {
        expect(errorReport(error)).toMatchObject({
          code: 'TOO_LARGE',
          message: expect.stringMatching(
            /^open files: expected fewer than the limit of the system/,
          ),
          exit: 2,
          suggestions: ['raise the limit: ulimit -n 1024'],
        })
      }
    }
  })

  it('cuts a message of thousands of characters', () => {
    const {message} = errorReport(new RfaError('BAD_FILE', `x.npz: ${'9, '.repeat(9999)}`))
    expect(message).toMatch(/^x\.npz: 9.*…$/)
    expect(message.length).toBeLessThan(1100)
  })

  it('takes the frame of the command-line parser off a sentence', () => {
    const error = new RfaError('BAD_RANGE', 'placeholder')
    error.message = 'Parsing --seed \n\t--seed: expected one number\nSee more help with --help'
    expect(errorReport(error).message).toBe('--seed: expected one number')
  })

  it('suggests the flag that a mistyped one resembles', () => {
    const error = Object.assign(
      new CLIError('Nonexistent flag: --causl\nSee more help with --help'),
      {
        flags: ['--causl'],
      },
    )
    expect(errorReport(error, {argv: ['--causl'], flags: {quick: {}, causal: {}}})).toEqual({
      code: 'USAGE',
      message: 'Nonexistent flag: --causl',
      exit: 2,
      suggestions: ['did you mean --causal?', 'see --help'],
    })
  })

  it.each([
    ['--layout=bhwd', 'bhld, blhd', '--layout: expected one of bhld, blhd, got "bhwd"', ['bhld']],
    ['ksh', 'bash, zsh, fish', 'expected one of bash, zsh, fish, got "ksh"', []],
  ])('says in its own words what %s may be', (typed, choices, message, meant) => {
    const error = new CLIError(
      `Expected ${typed} to be one of: ${choices}\nSee more help with --help`,
    )
    const guesses = meant.map(name => `did you mean ${name}?`)
    expect(errorReport(error)).toMatchObject({message, suggestions: [...guesses, 'see --help']})
  })

  it.each([
    [{name: 'shell', options: ['bash', 'zsh']}, 'SHELL: expected one of bash, zsh, got nothing'],
    [{name: 'run', description: 'folders of runs'}, 'RUN: expected folders of runs, got nothing'],
  ])('says in its own words what an argument should be: %#', (arg, message) => {
    const error = Object.assign(new CLIError('Missing 1 required arg'), {args: [arg]})
    expect(errorReport(error).message).toBe(message)
  })

  it('puts a parser message of several coloured lines on one plain line', () => {
    const error = new CLIError('The following error occurred:\n  \u001b[2m--a needs --b\u001b[22m')
    expect(errorReport(error).message).toBe('--a needs --b')
  })

  it.each([[new TypeError('x is not a function')], ['x is not a function']])(
    'calls anything else a fault of rfa itself: %s',
    error => {
      expect(errorReport(error)).toMatchObject({
        code: 'INTERNAL',
        message: 'x is not a function',
        exit: 70,
      })
    },
  )
})

describe('formatErrorReport', () => {
  const report = {code: 'USAGE', message: 'one sentence', exit: 2}

  it('prints sentence and code where there is nothing to try', () => {
    expect(formatErrorReport({...report, suggestions: []})).toBe('one sentence\nCode: USAGE')
  })

  it('aligns several remedies below each other', () => {
    expect(formatErrorReport({...report, suggestions: ['this', 'or that']})).toBe(
      'one sentence\nCode: USAGE   Try: this\n                   or that',
    )
  })
})
