'use strict';

const assert = require('assert');
const { EventEmitter } = require('events');

/**
 * Keeps the read model of a shop up to date. Events are delivered at least once, so each handler drops what it has
 * seen before; an event of an order that is not known is parked, not an error.
 */
class OrderProjection extends EventEmitter {
  constructor() {
    super();
    this.orders = new Map();
    this.seen = new Set();
    this.parked = [];

    this.on('order.placed', (event) => {
      if (this.isRepeated(event)) return;
      this.orders.set(event.orderId, { state: 'placed', history: [] });
      this.remember(event, 'placed');
    });

    this.on('order.paid', (event) => {
      if (this.isRepeated(event)) return;
      const order = this.orders.get(event.orderId);
      if (!order) {
        this.parked.push(event);
        return;
      }
      order.state = 'paid';
      order.paidCents = event.cents;
      this.remember(event, 'paid');
    });

    this.on('order.shipped', (event) => {
      if (this.isRepeated(event)) return;
      const order = this.orders.get(event.orderId);
      if (!order) {
        this.parked.push(event);
        return;
      }
      order.state = 'shipped';
      order.trackingCode = event.code;
      this.remember(event, 'shipped');
    });

    // Cancelled orders carry the reason: { id, orderId, reason }.
⟦    this.on('order.cancelled', (event) => {
      if (this.isRepeated(event)) return;
      const order = this.orders.get(event.orderId);
      if (!order) {
        this.parked.push(event);
        return;
      }
      order.state = 'cancelled';
      order.reason = event.reason;
      this.remember(event, 'cancelled');
    });
⟧  }

  isRepeated(event) {
    return this.seen.has(event.id);
  }

  remember(event, word) {
    this.seen.add(event.id);
    this.orders.get(event.orderId).history.push(word);
  }

  /** Delivers the parked events again, in their order. */
  retry(typeOf) {
    const events = this.parked.splice(0);
    events.forEach((event) => this.emit(typeOf(event), event));
  }
}
⟦tests⟧
const shop = new OrderProjection();
assert.ok(shop.emit('order.placed', { id: 'e1', orderId: 'A' }));
shop.emit('order.paid', { id: 'e2', orderId: 'A', cents: 500 });
assert.ok(shop.emit('order.cancelled', { id: 'e3', orderId: 'A', reason: 'lost in transit' }), 'nobody listens');
assert.deepStrictEqual(shop.orders.get('A'), {
  state: 'cancelled',
  history: ['placed', 'paid', 'cancelled'],
  paidCents: 500,
  reason: 'lost in transit',
});

// Delivered again, with another text: dropped.
shop.emit('order.cancelled', { id: 'e3', orderId: 'A', reason: 'again' });
assert.strictEqual(shop.orders.get('A').reason, 'lost in transit');
assert.strictEqual(shop.orders.get('A').history.length, 3);

const early = { id: 'e5', orderId: 'B', reason: 'changed my mind' };
shop.emit('order.cancelled', early);
assert.deepStrictEqual(shop.parked, [early]);
assert.strictEqual(shop.orders.has('B'), false);
shop.emit('order.placed', { id: 'e4', orderId: 'B' });
shop.retry(() => 'order.cancelled');
assert.deepStrictEqual(shop.parked, []);
assert.deepStrictEqual(shop.orders.get('B'), {
  state: 'cancelled',
  history: ['placed', 'cancelled'],
  reason: 'changed my mind',
});
shop.emit('order.cancelled', early);
assert.deepStrictEqual(shop.orders.get('B').history, ['placed', 'cancelled']);
assert.strictEqual(shop.listenerCount('order.cancelled'), 1);
