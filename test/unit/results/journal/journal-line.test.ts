import {crc32} from 'node:zlib'
import {describe, expect, it} from 'vitest'
import {damagedLine, journalLine, readLine} from '../../../../src/results/journal/journal-line.js'
import {alteredCells, DAMAGES, damagedBy, RECORDS} from '../../../helpers/damaged-journals.js'
import {timed} from '../../../helpers/records/bench.js'
import {failed} from '../../../helpers/records/outcomes.js'

const line = journalLine(timed()).slice(0, -1)
const kinds = Object.keys(DAMAGES)

describe('a line', () => {
  it('is the record as JSON, with CRC-32 of what stands before it as its last field', () => {
    const {crc32: sum, ...record} = JSON.parse(line)
    expect(record).toEqual(timed())
    const before = line.slice(0, line.indexOf(',"crc32"'))
    expect(sum).toBe(crc32(Buffer.from(before)).toString(16).padStart(8, '0'))
    expect(readLine(line, true)).toEqual({value: JSON.parse(line), checked: true})
  })

  it('has the CRC-32 of zip files: that of "123456789" is cbf43926', () => {
    expect(crc32('123456789').toString(16)).toBe('cbf43926')
  })

  it('may have any letters', () => {
    const odd = failed(timed(), {code: 'CELL_CRASHED', message: 'ü “𝒳” \u0000 \ud800'})
    expect(readLine(journalLine(odd).slice(0, -1), true)).toMatchObject({checked: true})
  })

  it('without a checksum is one of an earlier version, where these may be', () => {
    const earlier = JSON.stringify(timed())
    expect(readLine(earlier, false)).toEqual({value: timed(), checked: false})
    expect(readLine(earlier, true)).toBe('no checksum')
  })

  it('with another checksum is damaged, wherever lines may be without one', () => {
    const other = line.replace('"seed":', '"seed":1')
    for (const checked of [false, true]) expect(readLine(other, checked)).toBe('another checksum')
  })

  it.each([
    ['no JSON', '{"schema', /^here: expected a record as JSON on one line, got "\{\\"schema"$/],
    ['no checksum', '{"key":"0"}', /expected a record that ends with its checksum, "crc32":"…"\}/],
    ['another checksum', line, /expected a record with the checksum of its bytes, got one that/],
  ] as const)('is refused for %s, with two ways on', (fault, text, message) => {
    const error = damagedLine('here', text, fault)
    expect(error).toMatchObject({code: 'BAD_FILE', message: expect.stringMatching(message)})
    expect(error.suggestions).toEqual([
      expect.stringContaining('from a copy'),
      expect.stringContaining('--resume'),
    ])
  })
})

describe('a journal', () => {
  const bytes = Buffer.from(RECORDS.map(journalLine).join(''))

  it.each(kinds)('with %s is read as it was written, or not at all', kind => {
    for (let n = 0; n < 60; n++) {
      expect(alteredCells(damagedBy(kind, bytes, n), true), `${kind} ${n}`).toEqual([])
    }
  })

  it('without checksums would be read otherwise', () => {
    const damages = Array.from({length: 60}, (_, n) => damagedBy('a flipped bit', bytes, n))
    expect(damages.filter(damaged => alteredCells(damaged, false).length > 0)).not.toEqual([])
  })
})
