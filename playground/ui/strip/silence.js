// An order that the server leaves without an answer: after a while the page says so.

const PATIENCE = 3000; // milliseconds

// `tell(sentence)` is called once for an order that nothing was heard of.
function startSilence(tell) {
  let timer = 0;
  return {
    asked() {
      clearTimeout(timer);
      timer = setTimeout(tell, PATIENCE, 'The server has not answered yet. If it was stopped, start it again; nothing on this page is lost.');
    },
    heard() { clearTimeout(timer); },
  };
}
