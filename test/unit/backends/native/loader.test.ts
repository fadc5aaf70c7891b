import {describe, expect, it} from 'vitest'
import {isOn, loadFrom} from '../../../../src/backends/native/loader.js'

const runtime = {isa: 'avx2', available: 'avx2,scalar', error: ''}
const addon = {runtime: () => runtime}

function load(load: () => unknown, env: NodeJS.ProcessEnv = {}) {
  return loadFrom({root: '/package', env, load})
}

function failing(message: string) {
  return load(() => {
    throw new Error(message)
  })
}

describe('loading the addon', () => {
  it('gives it when it loads', () => {
    expect(load(() => addon)).toEqual({addon})
  })

  it('does not even look when RFA_NO_NATIVE is set', () => {
    const look = () => {
      throw new Error('looked')
    }
    expect(load(look, {RFA_NO_NATIVE: '1'})).toEqual({
      reason: 'switched off by RFA_NO_NATIVE',
      remedy: 'unset RFA_NO_NATIVE',
      absent: true,
    })
  })

  it('says how to build one that is not there', () => {
    const result = failing('No native build was found for platform=linux\n  loaded from: /package')
    expect(result).toMatchObject({
      reason: `the addon is not built for ${process.platform} ${process.arch}`,
      absent: true,
    })
    expect(result).toMatchObject({remedy: expect.stringMatching(/^npm rebuild rfa .* compiler/)})
  })

  it.each(['libstdc++.so.6: cannot open shared object file', "version `GLIBC_2.99' not found"])(
    'says that one does not fit the system: %s',
    message => {
      expect(failing(message)).toMatchObject({
        reason: `the addon does not load here: ${message}`,
        remedy: expect.stringContaining('built on another system'),
      })
    },
  )

  it('gives the message of anything else', () => {
    const result = failing('odd\nmore')
    expect(result).toMatchObject({reason: 'the addon does not load: odd'})
    expect(result).not.toHaveProperty('absent')
  })

  it('refuses to go on with another instruction set than RFA_ISA names', () => {
    const broken = {runtime: () => ({...runtime, error: 'RFA_ISA: unknown instruction set "mmx"'})}
    expect(load(() => broken)).toEqual({
      reason: 'RFA_ISA: unknown instruction set "mmx"',
      remedy: 'set RFA_ISA to one of avx2,scalar, or unset it',
    })
  })
})

describe('a switch in the environment', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['0', false],
    ['1', true],
    ['yes', true],
  ])('%j is %j', (value, on) => {
    expect(isOn(value)).toBe(on)
  })
})
