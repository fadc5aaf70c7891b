import {describe, expect, it} from 'vitest'
import {typedProgram, withTypedCommands} from '../../../../src/cli/program/typed.js'

const NPX = {npm_command: 'exec', npm_lifecycle_event: 'npx'}

describe('typedProgram', () => {
  it.each([
    ['npx', NPX, 'npx rfa'],
    ['a script of npm', {npm_command: 'run-script', npm_lifecycle_event: 'sweep'}, 'rfa'],
    ['a shell', {}, 'rfa'],
  ])('under %s', (_, env, program) => {
    expect(typedProgram(env)).toBe(program)
  })
})

describe('withTypedCommands', () => {
  it.each([
    [
      'every table: rfa report results/a --details',
      'every table: npx rfa report results/a --details',
    ],
    ['rfa merge joins what rfa run made', 'npx rfa merge joins what npx rfa run made'],
    ['see rfa -h', 'see npx rfa -h'],
    ['npx rfa doctor', 'npx rfa doctor'],
    ['rfa orth M=64, written by rfa', 'rfa orth M=64, written by rfa'],
    ['./rfa bench, my-rfa bench, rfa benches', './rfa bench, my-rfa bench, rfa benches'],
  ])('writes %j as %j', (text, typed) => {
    expect(withTypedCommands(text, NPX)).toBe(typed)
    expect(withTypedCommands(text, {})).toBe(text)
  })
})
