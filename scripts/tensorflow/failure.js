// A failure that a person can mend: what happened, and what to try.

export class Failure extends Error {
  /** @param remedies - what to try, one sentence each */
  constructor(message, ...remedies) {
    super(message)
    this.remedies = remedies
  }
}

/** What is not to be had here, whatever the script does: the network, a library for this platform, a compiler. */
export class Unavailable extends Failure {}

/** Says that a disk is full, if that is what went wrong. */
export function diskFull(error, folder) {
  if (error?.code !== 'ENOSPC' && error?.code !== 'EDQUOT') return undefined
  return new Failure(
    `no space left for ${folder}`,
    'free some, or say by XDG_CACHE_HOME where the wheel (0.2 GB) is kept; its libraries (0.7 GB) go into node_modules',
  )
}
