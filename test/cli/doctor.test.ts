import {describe, expect, it} from 'vitest'
import Doctor from '../../commands/doctor.js'
import {run} from './services.js'

describe('rfa doctor', () => {
  it('reports every backend and the machine, and succeeds', async () => {
    const {stdout, exitCode} = await run(Doctor, 'doctor', [])
    for (const line of [/^tensorflow /m, /^wasm +yes/m, /^cpu +yes/m, /^cpu +Test CPU$/m]) {
      expect(stdout).toMatch(line)
    }
    expect(exitCode).toBe(0)
  })
})
