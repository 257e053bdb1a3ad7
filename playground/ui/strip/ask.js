// One question to the server at a time: while one is on its way only the newest of the later ones waits, and
// an answer that is late, because a newer question or `drop` came after it, is not told.

function makeAsker(send) {
  let busy = false;
  let next = null;
  let newest = 0;

  async function work() {
    if (busy || !next) return;
    const { request, told, number } = next;
    next = null;
    busy = true;
    let answer;
    try {
      answer = JSON.parse(await send(request));
    } catch {
      answer = { error: 'The server did not answer: please try again.' };
    }
    busy = false;
    if (number === newest) told(answer);
    work();
  }

  return {
    ask(request, told) {
      newest += 1;
      next = { request, told, number: newest };
      work();
    },
    drop() {
      newest += 1;
      next = null;
    },
  };
}
