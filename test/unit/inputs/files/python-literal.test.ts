import fc from 'fast-check'
import {expect, test} from 'vitest'
import {type PythonValue, parsePythonLiteral} from '../../../../src/inputs/files/python-literal.js'

/** The literal as Python's `repr` writes it, lists as tuples. */
function repr(value: PythonValue): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') {
    return `'${value.replace(/[\\']/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r')}'`
  }
  if (Array.isArray(value)) return `(${value.map(item => `${repr(item)}, `).join('')})`
  return `{${[...value].map(([key, item]) => `${repr(key)}: ${repr(item)}`).join(', ')}}`
}

const literals = fc.letrec<{value: PythonValue}>(tie => ({
  value: fc.oneof(
    {depthSize: 'small', withCrossShrink: true},
    fc.string(),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), {maxLength: 4}),
    fc.array(fc.tuple(fc.string(), tie('value')), {maxLength: 4}).map(pairs => new Map(pairs)),
  ),
})).value

test('what repr writes is read back', () => {
  fc.assert(
    fc.property(literals, value => {
      expect(parsePythonLiteral(repr(value))).toEqual(value)
    }),
  )
})

test('a header of .npy becomes a map', () => {
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5L,), }   \n"
  expect(parsePythonLiteral(header)).toEqual(
    new Map<string, PythonValue>([
      ['descr', '<f4'],
      ['fortran_order', false],
      ['shape', [3, 5]],
    ]),
  )
})

test.each<[string, PythonValue]>([
  ['(3)', 3],
  ['(3,)', [3]],
  ['()', []],
  ['[1, 2]', [1, 2]],
  ['"it\'s"', "it's"],
  ['-7', -7],
  ['{}', new Map()],
])('%s is read as Python reads it', (text, value) => {
  expect(parsePythonLiteral(text)).toEqual(value)
})

test.each([
  ['', 'expected a Python literal at character 0, got the end'],
  ['open("x")', 'expected a Python literal at character 0, got "o"'],
  ['1.5', 'expected the end at character 1, got "."'],
  ["{'a' 1}", 'expected ":" at character 5, got "1"'],
  ["{'a': 1, 'a': 2}", 'expected key a once at character 12, got ":"'],
  ['{3: 4}', 'expected a quoted text at character 1, got "3"'],
  ['(1, 2', 'expected ")" at character 5, got the end'],
  ["'abc", 'expected a closed text with simple escapes at character 4, got the end'],
  ["'\\x41'", 'expected a closed text with simple escapes at character 2, got "x"'],
  ['1 2', 'expected the end at character 2, got "2"'],
])('%s is refused', (text, message) => {
  expect(() => parsePythonLiteral(text)).toThrow(new SyntaxError(message))
})

test('a hundred thousand brackets are refused without exhausting the stack', () => {
  expect(() => parsePythonLiteral('('.repeat(100_000))).toThrow('at most 16 nested brackets')
})

test('any text is read or refused with a SyntaxError', () => {
  fc.assert(
    fc.property(fc.string({unit: fc.constantFrom(...'{}()[]\'":,\\ 1aTrueNone')}), text => {
      try {
        parsePythonLiteral(text)
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError)
      }
    }),
  )
})
