import {describe, expect, it} from 'vitest'
import {parseShard, withShard} from '../../../../src/cli/flags/shard.js'

const shard = (text: string, env: Record<string, string> = {}) => parseShard(text, '--shard', env)
const array = (id: number, count: number, min: number, rest: Record<string, string> = {}) => ({
  SLURM_ARRAY_TASK_ID: String(id),
  SLURM_ARRAY_TASK_COUNT: String(count),
  SLURM_ARRAY_TASK_MIN: String(min),
  ...rest,
})

describe('parseShard', () => {
  it.each([
    ['1/1', {index: 1, count: 1}],
    ['3/8', {index: 3, count: 8}],
    [' 64 / 1024 ', {index: 64, count: 1024}],
  ])('reads %j', (text, expected) => {
    expect(shard(text)).toEqual(expected)
  })

  it.each(['', 'x', '3', '3/', '/8', '1/0', '-1/4', '1.5/4', '1/4/2', '1e3/2000', '1/100001'])(
    'refuses %j with the form',
    text => {
      expect(() => shard(text)).toThrow(/^--shard: expected I\/N, .*, got ".*"$/)
    },
  )

  it.each(['0/4', '5/4'])('refuses %j with the parts that there are', text => {
    expect(() => shard(text)).toThrow(/^--shard: expected a part from 1 to 4, got \d$/)
  })
})

describe('--shard slurm', () => {
  it('takes the part of a task', () => {
    expect(shard('slurm', array(3, 8, 1))).toEqual({index: 3, count: 8})
  })

  it('counts from wherever the array begins, by its steps', () => {
    expect(shard('slurm', array(0, 8, 0))).toEqual({index: 1, count: 8})
    const steps = {SLURM_ARRAY_TASK_MAX: '30', SLURM_ARRAY_TASK_STEP: '10'}
    expect(shard('slurm', array(20, 3, 10, steps))).toEqual({index: 2, count: 3})
  })

  it('refuses arrays with holes, whose parts nobody can tell', () => {
    const holes = {SLURM_ARRAY_TASK_MAX: '7', SLURM_ARRAY_TASK_STEP: '1'}
    expect(() => shard('slurm', array(3, 3, 1, holes))).toThrow(
      /even steps, got task 3 of 3 from 1 to 7$/,
    )
  })

  it('refuses to run outside of an array', () => {
    expect(() => shard('slurm')).toThrow(/a number in SLURM_ARRAY_TASK_ID, got none$/)
    expect(() => shard('slurm', {SLURM_ARRAY_TASK_ID: 'x'})).toThrow(/got "x"$/)
  })
})

it('a command line names the part, so that it means the same elsewhere', () => {
  const part = {index: 3, count: 8}
  expect(withShard(['rfa', 'run', '--shard', 'slurm'], part)).toEqual([
    'rfa',
    'run',
    '--shard',
    '3/8',
  ])
  expect(withShard(['rfa', '--shard=slurm', 'slurm'], part)).toEqual([
    'rfa',
    '--shard=3/8',
    'slurm',
  ])
  expect(withShard(['rfa', '-o', 'slurm'], undefined)).toEqual(['rfa', '-o', 'slurm'])
})
