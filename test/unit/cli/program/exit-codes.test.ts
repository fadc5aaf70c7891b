import {describe, expect, it} from 'vitest'
import {EXIT_CODES, exitCodeOf, exitCodesHelp} from '../../../../src/cli/program/exit-codes.js'

describe('exit codes', () => {
  it.each([
    ['USAGE', 2],
    ['BACKEND_MISSING', 3],
    ['CELL_TIMEOUT', 4],
    ['INTERRUPTED', 130],
  ] as const)('%s leaves with %i', (code, exit) => {
    expect(exitCodeOf(code)).toBe(exit)
  })

  it('are all named in the help', () => {
    const lines = exitCodesHelp()
      .split('\n')
      .map(line => line.replace(/ +/, ' '))
    for (const {exit, meaning} of EXIT_CODES) expect(lines).toContain(`${exit} ${meaning}`)
  })
})
