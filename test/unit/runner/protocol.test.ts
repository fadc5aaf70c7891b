import {describe, expect, it} from 'vitest'
import {RfaError} from '../../../src/errors.js'
import {answer} from '../../../src/runner/protocol.js'
import {jobFor} from '../../helpers/runner/jobs.js'

const {cell} = jobFor('ok')
const request = {id: 5, experiment: 'variance', cell, context: {threadShare: 2}}

describe('answer', () => {
  it('gives the outcome of the cell, by the id of the request', async () => {
    const outcome = {status: 'skipped', reason: 'no'} as const
    const reply = await answer(request, async asked => {
      expect(asked).toBe(request)
      return outcome
    })
    expect(reply).toEqual({id: 5, outcome})
  })

  it.each([
    ['the code of an RfaError', new RfaError('BAD_FILE', 'text'), 'BAD_FILE', 'text'],
    ['CELL_CRASHED for other errors', new TypeError('text'), 'CELL_CRASHED', 'text'],
    ['CELL_CRASHED for anything thrown', 'text', 'CELL_CRASHED', 'text'],
  ])('gives %s', async (_, thrown, code, message) => {
    const reply = await answer(request, () => Promise.reject(thrown))
    expect(reply).toEqual({id: 5, error: {code, message}})
  })
})
