import fc from 'fast-check'
import {expect, test} from 'vitest'
import {duplicateKey} from '../../../../src/inputs/files/safetensors-header.js'

test('no key of a text that JSON.stringify made is repeated', () => {
  fc.assert(
    fc.property(fc.json(), json => {
      expect(duplicateKey(json)).toBeUndefined()
    }),
  )
})

test.each([
  ['{"a":1,"a":2}', 'a'],
  ['{"a" : 1, "b": {"c": 1, "c"\n: 2}}', 'c'],
  ['{"q":1,"\\u0071":2}', 'q'],
  ['{"a\\"}":1,"a\\"}":2}', 'a"}'],
  ['[{"a":1},{"b":1,"b":1}]', 'b'],
])('%s repeats a key', (json, key) => {
  expect(duplicateKey(json)).toBe(key)
})

test.each([
  ['{"a":1,"b":"a","c":["a","a"]}'],
  ['{"a":{"a":{"a":1}}}'],
  ['{"x":"\\"a\\":1,\\"a\\":2"}'],
  ['[{"a":1},{"a":1}]'],
])('%s repeats none in one object', json => {
  expect(duplicateKey(json)).toBeUndefined()
})

test('a text of ten million characters is not a trouble', () => {
  const long = 'x'.repeat(1e7)
  expect(duplicateKey(`{"a":"${long}","a":1}`)).toBe('a')
})
